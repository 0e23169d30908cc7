<?php
// MULTI and EXEC make one step of SETNX and EXPIRE. But
// EXPIRE runs also when SETNX gave 0: a program that does not
// get the lock makes it last longer.
require __DIR__ . '/common.php'; // connects $redis

$redis->multi();
$redis->setNX('lock', '1');
$redis->expire('lock', $seconds);
[$ok, $expires] = $redis->exec();
show("MULTI; SETNX lock 1; EXPIRE lock $seconds; EXEC", (int) $ok . ' ' . (int) $expires);
if ($ok) {
    work();
    show('DEL lock', $redis->del('lock'));
}
