"""httpbed measures HTTP/1.1, HTTP/2 and HTTP/3 with real programs over emulated links."""
