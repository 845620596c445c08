"""A tool server that knows one note: the Model Context Protocol over standard input and output."""

import json
import os
import socket
import sys


def network() -> str:
    """Return whether this server can reach a network."""
    try:
        socket.create_connection(("192.0.2.1", 80), 1).close()
    except OSError:
        return "no network"
    return "network"


def answer(method: str, params: dict[str, object]) -> dict[str, object] | None:
    """Return the result of a call."""
    if method == "initialize":
        server = {"name": "notes", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": "recall", "description": "Recall the note.", "inputSchema": schema}]}
    if method == "tools/call":
        note = f"the note says {os.environ.get('NOTE')}; {network()}"
        return {"content": [{"type": "text", "text": note}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    said = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
