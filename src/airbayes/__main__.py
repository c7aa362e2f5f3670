"""`python -m airbayes` is `airbayes`."""

from airbayes.cli.main import main

if __name__ == "__main__":
    main()
