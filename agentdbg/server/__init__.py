"""The viewer's server: a data folder over HTTP and WebSocket, for this user on this machine."""
