"""Live updates of open pages over WebSocket, with polling as the fallback."""
