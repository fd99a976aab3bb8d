"""`lookalike serve`: an index behind HTTP."""

from __future__ import annotations

from typing import Unpack

from lookalike.cli.command_options import ServeCommand, command
from lookalike.options.option_table import checked

__all__ = ["serve"]


@command(ServeCommand)
def serve(**given: Unpack[ServeCommand]) -> None:
    """Serve an index over HTTP until Ctrl-C or SIGTERM.

    Example: lookalike serve seen.idx --port 8080 --token-file tokens
    """
    from lookalike.cli.terminal import announce_compiling, say
    from lookalike.server.access import read_tokens
    from lookalike.server.http_server import check_installed
    from lookalike.server.processes import run_server
    from lookalike.server.serve_settings import RequestLimits, ServeSettings

    check_installed()
    values = checked(ServeCommand, given)
    limits = RequestLimits(
        max_body=values["max_body"], max_item=values["max_item"], max_batch=values["max_batch"],
        request_time=values["request_time"],
    )  # fmt: skip
    token_file = values["token_file"]
    settings = ServeSettings(
        index=values["index"], host=values["host"], port=values["port"], workers=values["workers"],
        token_file=None if token_file is None else str(token_file), insecure=values["insecure"], seed=values["seed"],
        limits=limits,
    )  # fmt: skip
    tokens = [] if settings.token_file is None else read_tokens(settings.token_file)
    announce_compiling(values["quiet"])
    run_server(settings, tokens, lambda line: say(line, quiet=values["quiet"]))
