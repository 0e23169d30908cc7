# The value is the time at which the lock ends. A program that
# finds this time in the past deletes the lock and takes it:
# two programs that find it at once both get in.
from time import time

from common import redis, seconds, show, work


def take():
    expiry = int(time()) + seconds
    ok = redis.setnx("lock.foo", expiry)
    show(f"SETNX lock.foo {expiry}", int(ok))
    return ok


def has_ended():
    found = redis.get("lock.foo")
    show("GET lock.foo", found)
    return found is not None and int(found) < int(time())


ok = take()
if not ok and has_ended():
    show("DEL lock.foo", redis.delete("lock.foo"))
    ok = take()
if ok:
    work()
    show("DEL lock.foo", redis.delete("lock.foo"))
