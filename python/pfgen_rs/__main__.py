"""`python -m pfgen_rs` is `pfgen-rs`."""

from pfgen_rs.cli import main

if __name__ == "__main__":
    main()
