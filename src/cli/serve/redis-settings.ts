/** A setting of Redis that this server does not have. */
interface ForeignSetting {
  /** True: the line has no effect, and the server starts. False: the server refuses to start. */
  readonly isHarmless: boolean;
  /** A clause after "has no effect here:" or "cannot be used:". */
  readonly reason: string;
}

/** Finds a setting of Redis by its name in lower case. */
export function foreignSetting(name: string): ForeignSetting | undefined {
  const group = GROUPS.find(({ names }) => names.test(name));
  return group && { isHarmless: group.isHarmless, reason: group.reason };
}

/** The first group that matches counts. A line is harmful if an operator would rely on its effect. */
const GROUPS: readonly (ForeignSetting & { readonly names: RegExp })[] = [
  refused(/^include$/, 'a configuration is one file; join the files'),
  refused(/^rename-command$/, 'commands are not renamed; give users rights to commands instead'),
  refused(/^loadmodule$/, 'there are no modules'),
  refused(/^(?:replicaof|slaveof|masterauth|masteruser)$/, 'there is no replication'),
  refused(/^min-(?:replicas|slaves)-/, 'there is no replication'),
  refused(/^user$/, 'write users into the file of aclfile'),
  refused(
    /^tls-(?:key-file-pass|ca-cert-dir)$/,
    'use a key without a passphrase, and tls-ca-cert-file',
  ),
  refused(
    /^tls-(?:ciphers|ciphersuites|protocols|dh-params-file|prefer-server-ciphers)$/,
    'the server uses TLS 1.2 and 1.3 with the ciphers of Node',
  ),
  refused(/^unixsocketperm$/, 'the socket has mode 0600, in a folder of mode 0700'),
  refused(
    /^enable-(?:debug-command|module-command|protected-configs)$/,
    'there are no such commands',
  ),
  refused(/^bind-source-addr$/, 'the server opens no connections'),
  harmless(
    /^(?:repl|replica|slave)-|^(?:replica-announced|propagation-error-behavior)$/,
    'there is no replication',
  ),
  harmless(/^cluster-/, 'there is no cluster'),
  harmless(/^tls-/, 'there is no replication, cluster or session cache that it could apply to'),
  harmless(
    /^(?:rdb|lazyfree-|sanitize-dump-payload|dbfilename|stop-writes-on-bgsave-error)/,
    'there are no snapshots, and keys are freed at once',
  ),
  harmless(
    /^(?:aof-|auto-aof-|appenddirname|no-appendfsync-on-rewrite)/,
    'the log has no such setting',
  ),
  harmless(/^(?:maxmemory-|lfu-)/, 'keys are never evicted'),
  harmless(
    /^(?:daemonize|supervised|pidfile|set-proc-title|proc-title-template|always-show-logo)$/,
    'the server runs in the foreground; the service manager does this',
  ),
  harmless(
    /^(?:logfile|syslog-.+|crash-.+|ignore-warnings)$/,
    'the log goes to stderr; the service manager stores it',
  ),
  harmless(/^client-output-buffer-limit$/, 'use output-limit-normal and output-limit-pubsub'),
  harmless(
    /^(?:io-threads|io-threads-do-reads|.+[_-]cpulist)$/,
    'commands run in one thread, on the cores that the system chooses',
  ),
  harmless(
    /^(?:active-?defrag|jemalloc-|disable-thp|oom-score-adj|activerehashing|dynamic-hz)/,
    'Node manages the memory',
  ),
  harmless(
    /^(?:latency-tracking|tracking-table-max-keys|hll-sparse-max-bytes|stream-node-max-)/,
    'the server does not have this part of Redis',
  ),
  harmless(/^shutdown-/, 'SIGTERM and SIGINT end the server after its pending replies'),
  harmless(/^(?:tcp-backlog|socket-mark-id)$/, 'Node chooses it'),
];

function refused(names: RegExp, reason: string): ForeignSetting & { names: RegExp } {
  return { names, isHarmless: false, reason };
}

function harmless(names: RegExp, reason: string): ForeignSetting & { names: RegExp } {
  return { names, isHarmless: true, reason };
}
