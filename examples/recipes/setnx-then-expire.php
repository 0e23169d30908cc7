<?php
// SETNX takes the lock, and EXPIRE gives it an end. A program
// that dies between the two leaves a lock that has none.
require __DIR__ . '/common.php'; // connects $redis

$ok = $redis->setNX('lock', '1');
show('SETNX lock 1', (int) $ok);
if ($ok) {
    show("EXPIRE lock $seconds", (int) $redis->expire('lock', $seconds));
    work();
    show('DEL lock', $redis->del('lock'));
}
