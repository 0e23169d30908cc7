# As timestamp-getset, but a program that worked for longer
# than its lease sends no DEL. It can still be paused between
# the look at its clock and DEL.
from time import time

from common import redis, seconds, show, work

expiry = int(time()) + seconds
ok = redis.setnx("lock.foo", expiry)
show(f"SETNX lock.foo {expiry}", int(ok))
if not ok:
    found = redis.get("lock.foo")
    show("GET lock.foo", found)
    if found is not None and int(found) < int(time()):
        expiry = int(time()) + seconds
        previous = redis.getset("lock.foo", expiry)
        show(f"GETSET lock.foo {expiry}", previous)
        ok = previous == found
if ok:
    work()
    if int(time()) < expiry:
        show("DEL lock.foo", redis.delete("lock.foo"))
