"use strict";
// Shows the status of a campaign, and asks for it again while the page can be seen.
// Every text becomes a text node, so that a name from a program is never markup.
const PERIOD_MS = 2000;
const SVG = "http://www.w3.org/2000/svg";
let shown = "", tenth = -1, missed = 0;

async function ask() {
  if (!document.hidden) {
    try {
      const answer = await fetch("status.json", { cache: "no-cache" });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      if (text && text !== shown) show(JSON.parse(text)); // empty: the campaign is being read
      shown = text;
      missed = 0;
    } catch {
      missed += 1;
      if (missed === 2) gone();
    }
  }
  setTimeout(ask, PERIOD_MS);
}

function show(status) {
  document.title = `${status.ended} of ${status.planned}: ${status.name}`;
  for (const name of ["name", "directory", "question", "counts", "note"]) {
    document.getElementById(name).textContent = status[name];
  }
  document.getElementById("progress").textContent = said(status);
  document.getElementById("progress").classList.remove("gone");
  const bar = document.getElementById("bar");
  bar.max = Math.max(1, status.planned);
  bar.value = status.ended;
  speak(status);
  list("damaged", status.damaged.map((one) => `${one.place}: ${one.reasons.join("; ")}`));
  treatments(status);
  table("failures", status.failures, (one) => [
    cell(one.count, "trials", "num"), cell(one.outcome, "outcome"), cell(one.programs, "programs"),
    cell(one.reason, "reason", "reason"),
  ]);
  table("invalid_attempts", status.invalid_attempts, (one) => [
    cell(one.count, "attempts", "num"), cell(one.reason, "reason", "reason"),
  ]);
  table("events", status.events, (one) => [
    cell(new Date(one.started).toLocaleTimeString(), "started", "nowrap"), cell(one.block, "block", "num"),
    cell(one.treatment, "treatment"), cell(one.outcome, "outcome"), cell(one.reason, "reason", one.reason && "reason"),
  ]);
}

// A screen reader hears each tenth of the trials and the end, not every change.
function speak(status) {
  const now = status.running ? Math.floor(10 * status.ended / Math.max(1, status.planned)) : 11;
  if (now !== tenth) document.getElementById("spoken").textContent = said(status);
  tenth = now;
}

function said(status) {
  return `${status.progress}; ${status.state}.`;
}

function gone() {
  const progress = document.getElementById("progress");
  if (/no run is in progress/.test(progress.textContent)) return;
  progress.textContent = "httpbed no longer answers: the run has ended, or was interrupted.";
  progress.classList.add("gone");
  document.getElementById("spoken").textContent = progress.textContent;
  shown = "";
}

function treatments(status) {
  const found = status.treatments;
  const { title, coverage } = status.metric;
  const titles = ["treatment", "n", title + (coverage ? ` [${coverage}]` : ""), "interval", "completed"];
  const place = document.getElementById("treatments");
  place.tHead.rows[0].replaceChildren(...titles.map((text) => {
    const heading = cell(text, "", text === "n" || text === "completed" ? "num" : "", "th");
    heading.scope = "col";
    return heading;
  }));
  const scale = scaleOf(found);
  place.tBodies[0].replaceChildren(...found.map((one) => {
    const row = document.createElement("tr");
    row.className = `h${(one.levels.http_version || "")[0] || ""}`;
    const name = cell(one.treatment, "", "", "th");
    name.scope = "row";
    const range = cell("", "interval", "interval");
    range.append(drawn(one.estimate, scale));
    row.append(name, cell(one.n, "n", "num"), cell(`${one.median} ${one.interval}`, title), range,
      cell(`${one.completed} of ${one.planned}`, "completed", "num"));
    return row;
  }));
}

function scaleOf(found) {
  const ends = found.filter((one) => one.estimate).flatMap(({ estimate: { median, interval } }) =>
    [median.value, ...(interval ? [interval.low.value, interval.high.value] : [])]);
  const low = Math.min(...ends), high = Math.max(...ends);
  return (value) => (high > low ? 2 + 96 * (value - low) / (high - low) : 50);
}

function drawn(estimate, scale) {
  const range = document.createElementNS(SVG, "svg");
  range.setAttribute("class", "range");
  range.setAttribute("aria-hidden", "true");
  if (!estimate) return range;
  const { median, interval } = estimate;
  if (interval) mark(range, "line", { x1: scale(interval.low.value), x2: scale(interval.high.value), y1: 50, y2: 50 });
  mark(range, "circle", { cx: scale(median.value), cy: 50 }).setAttribute("r", "4");
  return range;
}

function mark(parent, kind, places) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(places)) made.setAttribute(name, `${value}%`);
  parent.append(made);
  return made;
}

function table(name, found, cells) {
  const place = document.getElementById(name);
  place.hidden = found.length === 0;
  place.querySelector("tbody").replaceChildren(...found.map((one) => {
    const row = document.createElement("tr");
    row.append(...cells(one));
    return row;
  }));
}

function list(name, lines) {
  const place = document.getElementById(name);
  place.hidden = lines.length === 0;
  place.querySelector("ul").replaceChildren(...lines.map((text) => cell(text, "", "", "li")));
}

function cell(text, label, kind = "", element = "td") {
  const made = document.createElement(element);
  made.textContent = text;
  made.className = text === "" && !kind ? "none" : kind;
  if (label) made.dataset.label = label;
  return made;
}

ask();
