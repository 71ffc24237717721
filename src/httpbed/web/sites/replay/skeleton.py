"""The document that asks for a recording's resources, where its own cannot.

A small script asks for each resource when the answer that led to it has come, by ``fetch``. An
answer's head is when the promise is kept, its end when the body has been read. So that the browser
says that the page is loaded when all has come, and not before, an empty frame stays open until
then.
Priorities are the recording's, as near as ``fetch`` can say them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from httpbed.web.sites.replay.order import Trigger
from httpbed.web.sites.replay.selection import ReplayedRequest, Selection

PLAN_PATH = "/.httpbed/replay.js"
"""Where the script is, if the document is too small for it."""
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


def script(chosen: Selection, triggers: Sequence[Trigger]) -> str:
    """Write the script; what a redirect leads to the browser asks for by itself."""
    asking = [
        number
        for number, one in enumerate(chosen.asked)
        if number > chosen.document and one.follows is None
    ]
    places = {number: place for place, number in enumerate(asking)}
    places |= dict.fromkeys(range(chosen.document + 1), -1)
    for number, one in enumerate(chosen.asked):
        if one.follows is not None:
            places[number] = places[one.follows]
    times = Counter(one.target for one in chosen.asked)
    plan = [
        _planned(chosen, number, triggers[number], places, times[chosen.asked[number].target])
        for number in asking
    ]
    said = json.dumps(plan, separators=(",", ":")).replace("<", "\\u003c")
    return _SCRIPT.replace("PLAN", said, 1)


def _planned(
    chosen: Selection, number: int, trigger: Trigger, places: dict[int, int], times: int
) -> list[Any]:
    """Say where, after which of the plan (-1: the document), since its head or end, and when."""
    one = chosen.asked[number]
    first = chosen.asked[chosen.document]
    is_near = one.host == first.host and not one.path.startswith("//")
    url = one.path if is_near else f"//{one.host}{one.path}"
    after = -1 if trigger.after is None else places[trigger.after]
    wait_ms = round(trigger.wait_s * 1000)
    said = [url, after, int(trigger.since == "end"), wait_ms]
    options = _options(one, times)
    return [*said, options] if options else said


def _options(one: ReplayedRequest, times: int) -> dict[str, Any]:
    entry, found = one.entry, dict[str, Any]()
    if entry.method.upper() != "GET":
        found["method"] = entry.method.upper()
    if entry.method.upper() == "POST" and entry.posted:
        found["body"] = len(entry.posted.encode())
    priority = entry.priority.replace("-", "").lower()
    if priority in _LOW | _HIGH:
        found["priority"] = "low" if priority in _LOW else "high"
    if times > 1:  # its second answer may be another one, which no cache knows
        found["cache"] = "no-store"
    return found


def inline(text: str) -> bytes:
    """Write a document with the script in it."""
    return f"{_HEAD}<script>{text}</script>".encode()


def outside() -> bytes:
    """Write a document that loads the script."""
    return f"<script src={PLAN_PATH}></script>".encode()
