<?php
// SETNX takes the lock, DEL releases it. If this program dies
// in between, the lock stays for ever.
require __DIR__ . '/common.php'; // connects $redis

$ok = $redis->setNX('lock', '1');
show('SETNX lock 1', (int) $ok);
if ($ok) {
    work();
    show('DEL lock', $redis->del('lock'));
}
