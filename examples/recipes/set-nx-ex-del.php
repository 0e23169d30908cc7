<?php
// SET with NX and EX takes the lock and gives it an end in
// one command. DEL asks nothing: a program that worked for
// longer than its lease deletes the lock of the next one.
require __DIR__ . '/common.php'; // connects $redis

$ok = $redis->set('lock', '1', ['nx', 'ex' => (int) $seconds]);
show("SET lock 1 EX $seconds NX", $ok ? 'OK' : null);
if ($ok) {
    work();
    show('DEL lock', $redis->del('lock'));
}
