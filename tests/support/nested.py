"""An experiment whose levels are tables, with factors in them."""

from __future__ import annotations

LEVELS = """
[factors.path.direct]
client = { factor = "client" }
server = { implementation = "nginx", congestion_control = { factor = "control" } }

[factors.path.envoy]
client = { factor = "client" }
proxies = [{ implementation = "envoy", congestion_control = { factor = "control" } }]
server = { implementation = "nginx", congestion_control = "reno" }

[factors.client]
curl-h2 = { implementation = "curl", http_version = "2" }
curl-h3 = { implementation = "curl", http_version = "3" }

[factors.access]
slow = { between = ["client", "proxy"], rate = "1 Mbit/s", delay = { factor = "delay" } }
fast = { between = ["client", "proxy"], delay = { factor = "delay" } }
"""
NESTED = f"""
schema = 1
name = "nested"
question = "Do levels that are tables and lists work everywhere?"
replicates = 1
seed = 1
roles = {{ factor = "path" }}

[factors]
control = ["reno", "bbr"]
delay = ["0 ms", "25 ms"]
{LEVELS}

[topology]
hosts = ["client", "proxy", "server"]
links = [{{ factor = "access" }}, {{ between = ["proxy", "server"] }}]

[workload]
kind = "download"
size = "1 kB"
"""
