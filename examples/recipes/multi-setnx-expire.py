# MULTI and EXEC make one step of SETNX and EXPIRE. But EXPIRE
# runs also when SETNX gave 0: a program that does not get the
# lock makes it last longer.
from common import redis, seconds, show, work

transaction = redis.pipeline(transaction=True)
transaction.setnx("lock", 1)
transaction.expire("lock", seconds)
ok, expires = transaction.execute()
show(f"MULTI; SETNX lock 1; EXPIRE lock {seconds}; EXEC", f"{int(ok)} {int(expires)}")
if ok:
    work()
    show("DEL lock", redis.delete("lock"))
