# SET with NX and EX takes the lock and gives it an end in one
# command. DEL asks nothing: a program that worked for longer
# than its lease deletes the lock of the next one.
from common import redis, seconds, show, work

ok = redis.set("lock", 1, nx=True, ex=seconds)
show(f"SET lock 1 EX {seconds} NX", "OK" if ok else None)
if ok:
    work()
    show("DEL lock", redis.delete("lock"))
