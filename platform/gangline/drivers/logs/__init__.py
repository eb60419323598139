"""The one store of logs, whatever the engine: appended to, and read from an offset on."""
