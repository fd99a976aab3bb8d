"""An index behind HTTP: the server (`lookalike serve`), and the clients that speak to it."""
