"""Takes locks with kazoo. Each line of the input has a verb, a class of kazoo and a path."""

import sys

from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1])
client.start()
locks = {}
print("ready", flush=True)
for line in sys.stdin:
    verb, kind, path = line.split()
    if (kind, path) not in locks:
        locks[kind, path] = getattr(client, kind)(path, "a-snake")
    lock = locks[kind, path]
    if verb == "release":
        lock.release()
        answer = "released"
    else:
        answer = str(lock.acquire(blocking=verb == "acquire")).lower()
    print(answer, flush=True)
client.stop()
