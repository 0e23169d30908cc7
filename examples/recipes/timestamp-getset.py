# The value is the time at which the lock ends. A program that
# finds this time in the past replaces it by GETSET, and has
# the lock if GETSET returns the time that it found. The
# GETSET of a program that was too late moves the end of the
# winner's lock.
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
    show("DEL lock.foo", redis.delete("lock.foo"))
