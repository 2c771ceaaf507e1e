"""`python -m resay` is `resay`."""

from resay.cli import main

if __name__ == "__main__":
    main()
