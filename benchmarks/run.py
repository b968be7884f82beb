"""`make bench`: every measurement that needs no training, one after the other."""

import peers
import slopes
import startup
import tagging

if __name__ == "__main__":
    short = 0
    for benchmark in (startup, tagging, slopes, peers):
        print(f"== {benchmark.__doc__.splitlines()[0]}", flush=True)
        # A benchmark that misses a target reports it; the others run all the same.
        short += bool(benchmark.main())
    raise SystemExit(short)
