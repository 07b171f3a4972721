"""The entry point of a worker process, which `WorkerPool` starts."""

from tripos.api.workers.worker import main

if __name__ == "__main__":
    main()
