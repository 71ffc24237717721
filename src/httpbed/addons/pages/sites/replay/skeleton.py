"""The document that requests a site's resources if the recorded document cannot.

A small script requests each resource by ``fetch`` after the response that caused it. The promise
resolves with the response's head; the body's end is its end. An empty frame stays open until all
has arrived, so that the load event fires then and not before. Priorities are the recorded ones as
far as ``fetch`` has them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from httpbed.addons.pages.sites.replay.order import Trigger
from httpbed.addons.pages.sites.replay.selection import SelectedRequest, Selection

PLAN_PATH = "/.httpbed/replay.js"
"""Path of the script if the document is too short for it."""
_LOW, _HIGH = frozenset({"low", "verylow", "lowest"}), frozenset({"high", "veryhigh", "highest"})
_HEAD = '<!doctype html><meta charset=utf-8><link rel=icon href="data:,">'
_SCRIPT = """(()=>{
const P=PLAN,K={};
P.forEach((p,j)=>(K[p[1]+","+p[2]]??=[]).push(j));
let n=P.length;
const f=document.createElement("iframe");
f.hidden=true;
document.documentElement.append(f);
const d=f.contentDocument;
d.open();
const led=(i,s)=>{
for(const j of K[i+","+s]??[])P[j][3]?setTimeout(ask,P[j][3],j):ask(j);
K[i+","+s]=[]
};
const ask=async j=>{
const[u,,,,o]=P[j];
try{
const r=await fetch(u,{credentials:"include",...o,...(o?.body&&{body:" ".repeat(o.body)})});
led(j,0);
await r.arrayBuffer()
}catch{}
led(j,0);led(j,1);
--n||d.close()
};
n||d.close();
addEventListener("DOMContentLoaded",()=>led(-1,1));
led(-1,0)
})()"""


def script(selected: Selection, triggers: Sequence[Trigger]) -> str:
    """Return the script; the browser follows redirects by itself."""
    numbers = [
        number
        for number, one in enumerate(selected.requests)
        if number > selected.document and one.follows is None
    ]
    places = {number: place for place, number in enumerate(numbers)}
    places |= dict.fromkeys(range(selected.document + 1), -1)
    for number, one in enumerate(selected.requests):
        if one.follows is not None:
            places[number] = places[one.follows]
    times = Counter(one.target for one in selected.requests)
    plan = [
        _planned(
            selected, number, triggers[number], places, times[selected.requests[number].target]
        )
        for number in numbers
    ]
    plan_text = json.dumps(plan, separators=(",", ":")).replace("<", "\\u003c")
    return _SCRIPT.replace("PLAN", plan_text, 1)


def _planned(
    selected: Selection, number: int, trigger: Trigger, places: dict[int, int], times: int
) -> list[Any]:
    """Return URL, cause in the plan (-1: the document), head or end of the cause, wait, options."""
    one = selected.requests[number]
    first = selected.requests[selected.document]
    is_near = one.host == first.host and not one.path.startswith("//")
    url = one.path if is_near else f"//{one.host}{one.path}"
    after = -1 if trigger.after is None else places[trigger.after]
    wait_ms = round(trigger.wait_s * 1000)
    entry = [url, after, int(trigger.since == "end"), wait_ms]
    options = _options(one, times)
    return [*entry, options] if options else entry


def _options(one: SelectedRequest, times: int) -> dict[str, Any]:
    entry, options = one.entry, dict[str, Any]()
    if entry.method.upper() != "GET":
        options["method"] = entry.method.upper()
    if entry.method.upper() == "POST" and entry.posted:
        options["body"] = len(entry.posted.encode())
    priority = entry.priority.replace("-", "").lower()
    if priority in _LOW | _HIGH:
        options["priority"] = "low" if priority in _LOW else "high"
    if times > 1:  # the second response may differ, so no cache may answer
        options["cache"] = "no-store"
    return options


def inline(text: str) -> bytes:
    """Return a document with the script in it."""
    return f"{_HEAD}<script>{text}</script>".encode()


def outside() -> bytes:
    """Return a document that loads the script."""
    return f"<script src={PLAN_PATH}></script>".encode()
