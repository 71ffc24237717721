// Prints what speedline-core says of traces: {"NAME": {"speed_index_ms", "progress": [[ms, per cent]]}}.
// node speedline.js PATH-OF-SPEEDLINE-CORE {TRACE.json NAVIGATION-US}...
const [, , library, ...rest] = process.argv;
const speedline = require(library);

async function main() {
  const said = {};
  for (let index = 0; index < rest.length; index += 2) {
    const options = { timeOrigin: Number(rest[index + 1]), include: "speedIndex" };
    const found = await speedline(rest[index], options);
    const name = rest[index].split("/").pop().replace(/\.json$/, "");
    said[name] = {
      speed_index_ms: found.speedIndex,
      progress: found.frames.map((frame) => [
        frame.getTimeStamp() - found.beginning,
        frame.getProgress(),
      ]),
    };
  }
  console.log(JSON.stringify(said));
}

main();
