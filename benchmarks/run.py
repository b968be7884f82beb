"""`make bench`: every measurement that needs no training, one after the other."""

import memory
import startup
import tagging

if __name__ == "__main__":
    for benchmark in (startup, tagging, memory):
        print(f"== {benchmark.__doc__.splitlines()[0]}", flush=True)
        benchmark.main()
