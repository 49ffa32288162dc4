"""Adds one to a number in Redis, again and again, each time under a lock: lock.py PORT KEY TIMES.
The lock is the record of redislock, as docs/record.md describes it."""
import socket, sys, time, uuid

PORT, KEY, TIMES = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
TAKE = """local t = redis.call('TIME')
local token = string.format('%.0f', math.max(t[1] * 1e6 + t[2], (redis.call('GET', KEYS[2]) or 0) + 1))
if not redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token, 'NX', 'PX', ARGV[2]) then return false end
redis.call('SET', KEYS[2], token)
return token"""
GIVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
connection = socket.create_connection(("127.0.0.1", PORT)).makefile("rwb")

def redis(*words):
    words = [str(word).encode() for word in words]
    connection.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
    connection.flush()
    head = connection.readline().decode().strip()
    if head[0] == "-": raise RuntimeError(head)
    if head[0] != "$": return head[1:]
    return None if head == "$-1" else connection.read(int(head[1:]) + 2)[:-2].decode()

for _ in range(TIMES):
    owner = f"{uuid.uuid4()}@python"
    while not (token := redis("EVAL", TAKE, 2, KEY, "distlock:clock", owner, 10000)): time.sleep(0.005)
    number = int(redis("GET", "number") or 0)
    time.sleep(0.001)
    redis("SET", "number", number + 1)
    redis("RPUSH", "tokens", token)
    if redis("EVAL", GIVE, 1, KEY, f"{owner} {token}") != "1": sys.exit("the lock was lost")
