// A client and a server on Bun: HTTP/1.1, HTTP/2, and HTTP/3 by lsquic.
//
// It prints the lines and writes the access log of httpbed's other programs. Run by
// recipes/bun.toml: bun bun_program.js ROLE NAME=VALUE... /PATH=FILE...

import { appendFileSync, realpathSync, statSync } from "node:fs";

const [role, ...words] = process.argv.slice(2);
const options = {};
const requests = [];
for (const word of words) {
  const at = word.indexOf("=");
  if (word.startsWith("/")) requests.push([word.slice(0, at), word.slice(at + 1)]);
  else options[word.slice(0, at)] = word.slice(at + 1);
}
const since = () => performance.now() / 1000;

// Fetches one file and prints its line.
async function download([path, file]) {
  const began_s = since();
  const response = await fetch(`https://${options.name}:${options.port}${path}`, {
    protocol: { "1.1": "http1.1", 2: "http2", 3: "http3" }[options.http],
    headers: { "accept-encoding": "identity" },
    redirect: "manual",
    timeout: false,
  });
  const body = Bun.file(file).writer();
  let body_bytes = 0;
  let first_byte_s = null;
  for await (const chunk of response.body ?? []) {
    first_byte_s ??= since();
    body_bytes += chunk.length;
    body.write(chunk);
    await body.flush();
  }
  await body.end();
  const line = { http_version: options.http, path, status: response.status, body_bytes };
  console.log(JSON.stringify({ ...line, began_s, first_byte_s, ended_s: since() }));
}

async function get() {
  for (let round = 0; round < Number(options.rounds); round++) {
    // HTTP/1.1 would open a connection for each file.
    if (options.http !== "1.1") await Promise.all(requests.map(download));
    else for (const request of requests) await download(request);
  }
}

// Returns the path of a file of the folder; null if it is missing or outside.
function found(pathname) {
  try {
    const file = realpathSync(`${options.content}/${decodeURIComponent(pathname)}`);
    return file.startsWith(`${options.content}/`) && statSync(file).isFile() ? file : null;
  } catch {
    return null;
  }
}

// Serves one protocol. Bun does not say in which one a request came, so each has its own server.
function serve(protocol, versions) {
  Bun.serve({
    ...{ http1: false, http2: false, http3: false, ...versions },
    port: Number(options.port),
    hostname: options.address,
    idleTimeout: 0,
    tls: { cert: Bun.file(options.certificate), key: Bun.file(options.key) },
    fetch(request, server) {
      const url = new URL(request.url);
      const file = found(url.pathname);
      const client = server.requestIP(request);
      const line = {
        protocol,
        status: file ? 200 : 404,
        body_bytes: file ? statSync(file).size : 0,
        path: url.pathname,
        authority: url.host,
        connection: client ? `${client.address} ${client.port}` : "",
        tls_version: "TLSv1.3",
      };
      appendFileSync(options.log, JSON.stringify(line) + "\n");
      return file ? new Response(Bun.file(file)) : new Response(null, { status: 404 });
    },
  });
}

if (role === "serve") {
  if (options.http === "2") serve("HTTP/2.0", { http2: true });
  else serve("HTTP/1.1", { http1: true });
  serve("HTTP/3.0", { http3: true });
} else {
  try {
    await get();
    process.exit(0);
  } catch (error) {
    console.log(JSON.stringify({ error: `${error.code ?? error.name}: ${error.message}` }));
    process.exit(1);
  }
}
