-- setnx and expire, all as keys
-- The value and the seconds come as keys, too. One server
-- does not mind; a cluster refuses names that belong to
-- different slots (CROSSSLOT).
local key, value, seconds = KEYS[1], KEYS[2], KEYS[3]
local ok = redis.call('setnx', key, value)
if ok == 1 then
  redis.call('expire', key, seconds)
end
return ok
