"""`python -m lookalike` is `lookalike`."""

from lookalike.cli.start import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
