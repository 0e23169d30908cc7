<?php
// The value is a token of this program, and a script deletes
// the lock only if it finds the token: no program deletes the
// lock of another.
require __DIR__ . '/common.php'; // connects $redis

$token = bin2hex(random_bytes(16));
$ms = $seconds * 1000;
$ok = $redis->set('lock', $token, ['nx', 'px' => $ms]);
show("SET lock $token PX $ms NX", $ok ? 'OK' : null);
if ($ok) {
    work();
    $script = file_get_contents(__DIR__ . '/set-nx-px-lua-del.lua');
    show("EVAL <compare and delete> 1 lock $token", $redis->eval($script, ['lock', $token], 1));
}
