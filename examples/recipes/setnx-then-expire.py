# SETNX takes the lock, and EXPIRE gives it an end. A program
# that dies between the two leaves a lock that has none.
from common import redis, seconds, show, work

ok = redis.setnx("lock", 1)
show("SETNX lock 1", int(ok))
if ok:
    show(f"EXPIRE lock {seconds}", int(redis.expire("lock", seconds)))
    work()
    show("DEL lock", redis.delete("lock"))
