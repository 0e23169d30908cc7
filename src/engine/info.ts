import { createHash } from 'node:crypto';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { DURATION_BOUNDS_S, type DurationHistogram } from '../clock/index.ts';
import { everyCommand } from './commands/index.ts';
import type { Engine } from './engine.ts';
import { lower } from './text.ts';
import { HOLDFAST_VERSION, REDIS_VERSION } from './version.ts';

type Fields = Readonly<Record<string, string | number>>;

/** The sections in their order, with the field names of Redis 7.0, which dashboards read. */
const SECTIONS = {
  Server: serverFields,
  Clients: clientFields,
  Memory: memoryFields,
  Persistence: persistenceFields,
  Stats: statisticsFields,
  Replication: replicationFields,
  CPU: cpuFields,
  Modules: () => ({}),
  Commandstats: commandFields,
  Errorstats: errorFields,
  Cluster: () => ({ cluster_enabled: 0 }),
  Keyspace: keyspaceFields,
  Holdfast: holdfastFields,
} as const satisfies Record<string, (engine: Engine) => Fields>;

/** Longer section names are unknown. */
const MAX_NAME_LENGTH = 32;

/** Only returned for their own names, `all` and `everything`. */
const EXTRA: ReadonlySet<string> = new Set(['commandstats', 'holdfast']);

/** The text of INFO: the named sections, or those of `default`. Unknown names are skipped. */
export function infoText(engine: Engine, names: readonly string[]): string {
  const known = names.filter(({ length }) => length <= MAX_NAME_LENGTH).map(lower);
  const wanted = new Set(names.length > 0 ? known : ['default']);
  return Object.entries(SECTIONS)
    .filter(([title]) => isWanted(title.toLowerCase(), wanted))
    .map(([title, fields]) => sectionText(title, fields(engine)))
    .join('\r\n');
}

function isWanted(name: string, wanted: ReadonlySet<string>): boolean {
  if (wanted.has(name) || wanted.has('all') || wanted.has('everything')) return true;
  return wanted.has('default') && !EXTRA.has(name);
}

function sectionText(title: string, fields: Fields): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}:${value}\r\n`);
  return `# ${title}\r\n${lines.join('')}`;
}

function serverFields(engine: Engine): Fields {
  const uptimeSeconds = Math.floor((engine.nowMs - engine.startedMs) / 1000);
  const wallMs = engine.wallMs();
  return {
    redis_version: REDIS_VERSION,
    holdfast_version: HOLDFAST_VERSION,
    redis_git_sha1: '00000000',
    redis_git_dirty: 0,
    redis_build_id: '0',
    redis_mode: 'standalone',
    os: `${process.platform} ${process.arch}`,
    arch_bits: 64,
    multiplexing_api: 'node',
    node_version: process.version,
    process_id: process.pid,
    run_id: runId(engine),
    tcp_port: engine.settings.text('port'),
    server_time_usec: Math.floor(wallMs * 1000),
    uptime_in_seconds: uptimeSeconds,
    uptime_in_days: Math.floor(uptimeSeconds / 86_400),
    hz: engine.settings.text('hz'),
    configured_hz: engine.settings.text('hz'),
    lru_clock: Math.floor(wallMs / 1000) & 0xffffff,
    executable: process.execPath,
    config_file: '',
  };
}

/** An id that differs for each start, as in Redis. Not secret. */
function runId({ hashSeed, startedMs }: Engine): string {
  return createHash('sha1').update(`${process.pid} ${hashSeed} ${startedMs}`).digest('hex');
}

function clientFields(engine: Engine): Fields {
  return {
    connected_clients: engine.sessions.size,
    cluster_connections: 0,
    maxclients: engine.settings.text('maxclients'),
    client_recent_max_input_buffer: 0,
    client_recent_max_output_buffer: 0,
    blocked_clients: engine.blocking.count,
    tracking_clients: 0,
    clients_in_timeout_table: 0,
    holdfast_sessions: engine.exitCommands.sessionCount,
    holdfast_wills: engine.exitCommands.count,
  };
}

/**
 * `used_memory` is the estimate that `maxmemory` limits. The size of the JavaScript heap, with garbage, and the
 * resident memory of the process follow it.
 */
function memoryFields({ memory, scripts, settings, persistence }: Engine): Fields {
  const { heapUsed, external, rss } = process.memoryUsage();
  const usedBytes = memory.used.bytes;
  const maxBytes = Number.isFinite(memory.limitBytes) ? memory.limitBytes : 0;
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  return {
    used_memory: usedBytes,
    used_memory_human: humanBytes(usedBytes),
    used_memory_rss: rss,
    used_memory_rss_human: humanBytes(rss),
    used_memory_peak: peakBytes,
    used_memory_peak_human: humanBytes(peakBytes),
    used_memory_peak_perc: `${((usedBytes / peakBytes) * 100).toFixed(2)}%`,
    used_memory_overhead: usedBytes - memory.data.bytes,
    used_memory_startup: 0,
    used_memory_dataset: memory.data.bytes,
    total_system_memory: totalmem(),
    used_memory_lua: memory.scripts.bytes,
    used_memory_vm_eval: memory.scripts.bytes,
    used_memory_scripts_eval: memory.scripts.bytes,
    number_of_cached_scripts: scripts.count,
    number_of_functions: 0,
    number_of_libraries: 0,
    used_memory_vm_functions: 0,
    used_memory_functions: 0,
    used_memory_scripts: memory.scripts.bytes,
    used_memory_scripts_human: humanBytes(memory.scripts.bytes),
    mem_not_counted_for_evict: 0,
    mem_replication_backlog: 0,
    mem_clients_slaves: 0,
    mem_clients_normal: memory.clients.bytes,
    mem_aof_buffer: persistence?.status.bufferBytes ?? 0,
    maxmemory: maxBytes,
    maxmemory_human: humanBytes(maxBytes),
    maxmemory_policy: settings.text('maxmemory-policy'),
    holdfast_wills_memory: memory.exitCommands.bytes,
    holdfast_heap_used: heapUsed,
    holdfast_heap_limit: getHeapStatistics().heap_size_limit,
    holdfast_external: external,
    mem_fragmentation_ratio: (rss / Math.max(usedBytes, 1)).toFixed(2),
    mem_fragmentation_bytes: rss - usedBytes,
    mem_allocator: 'v8',
    active_defrag_running: 0,
    lazyfree_pending_objects: 0,
    lazyfreed_objects: 0,
  };
}

function humanBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), 4);
  return `${(bytes / 1024 ** power).toFixed(2)}${' KMGT'[power]}`;
}

function persistenceFields(engine: Engine): Fields {
  const startedSeconds = Math.floor((engine.wallMs() - (engine.nowMs - engine.startedMs)) / 1000);
  return {
    loading: engine.nowMs < engine.writesFromMs ? 1 : 0,
    loading_eta_seconds: Math.max(0, Math.ceil((engine.writesFromMs - engine.nowMs) / 1000)),
    async_loading: 0,
    rdb_changes_since_last_save: engine.stats.changes,
    rdb_bgsave_in_progress: 0,
    rdb_last_save_time: startedSeconds,
    rdb_last_bgsave_status: 'ok',
    rdb_last_bgsave_time_sec: -1,
    rdb_current_bgsave_time_sec: -1,
    rdb_saves: 0,
    rdb_last_cow_size: 0,
    ...logFields(engine),
    aof_last_cow_size: 0,
    module_fork_in_progress: 0,
    module_fork_last_cow_size: 0,
  };
}

function logFields({ persistence, nowMs }: Engine): Fields {
  const status = persistence?.status;
  const rewriteSeconds = Math.floor((nowMs - (status?.rewriteBeganMs ?? 0)) / 1000);
  return {
    aof_enabled: status === undefined ? 0 : 1,
    aof_rewrite_in_progress: status?.isRewriting ? 1 : 0,
    aof_rewrite_scheduled: 0,
    aof_last_rewrite_time_sec: status?.lastRewriteSeconds ?? -1,
    aof_current_rewrite_time_sec: status?.isRewriting ? rewriteSeconds : -1,
    aof_last_bgrewrite_status: status?.lastRewrite ?? 'ok',
    aof_rewrites: status?.rewrites ?? 0,
    aof_last_write_status: status?.lastWrite ?? 'ok',
    ...(status !== undefined && {
      aof_current_size: status.currentBytes,
      aof_base_size: status.baseBytes,
      aof_pending_rewrite: 0,
      aof_buffer_length: status.bufferBytes,
      aof_pending_bio_fsync: status.isSyncing ? 1 : 0,
      aof_delayed_fsync: status.delayedSyncs,
    }),
  };
}

function statisticsFields(engine: Engine): Fields {
  const { stats, statistics, pubSub } = engine;
  return {
    total_connections_received: stats.sessions,
    total_commands_processed: stats.commands,
    instantaneous_ops_per_sec: statistics.commandsPerSecond(engine.nowMs),
    total_net_input_bytes: stats.inputBytes,
    total_net_output_bytes: stats.outputBytes,
    rejected_connections: stats.rejectedSessions,
    sync_full: 0,
    sync_partial_ok: 0,
    sync_partial_err: 0,
    expired_keys: stats.expiredKeys,
    expired_stale_perc: '0.00',
    expired_time_cap_reached_count: 0,
    evicted_keys: 0,
    evicted_clients: stats.evictedSessions,
    total_eviction_exceeded_time: 0,
    keyspace_hits: stats.keyspaceHits,
    keyspace_misses: stats.keyspaceMisses,
    pubsub_channels: pubSub.channels.subscribers.size,
    pubsub_patterns: pubSub.patterns.subscribers.size,
    pubsubshard_channels: pubSub.shardChannels.subscribers.size,
    latest_fork_usec: 0,
    total_forks: 0,
    migrate_cached_sockets: 0,
    slave_expires_tracked_keys: 0,
    active_defrag_hits: 0,
    active_defrag_misses: 0,
    active_defrag_key_hits: 0,
    active_defrag_key_misses: 0,
    tracking_total_keys: 0,
    dump_payload_sanitizations: 0,
    unexpected_error_replies: 0,
    total_error_replies: stats.errors,
  };
}

function replicationFields(engine: Engine): Fields {
  return {
    role: 'master',
    connected_slaves: 0,
    master_failover_state: 'no-failover',
    master_replid: runId(engine),
    master_replid2: '0'.repeat(40),
    master_repl_offset: 0,
    second_repl_offset: -1,
    repl_backlog_active: 0,
    repl_backlog_size: 0,
    repl_backlog_first_byte_offset: 0,
    repl_backlog_histlen: 0,
  };
}

function cpuFields(): Fields {
  const { system, user } = process.cpuUsage();
  return {
    used_cpu_sys: (system / 1e6).toFixed(6),
    used_cpu_user: (user / 1e6).toFixed(6),
    used_cpu_sys_children: '0.000000',
    used_cpu_user_children: '0.000000',
  };
}

function commandFields({ statistics }: Engine): Fields {
  const { calls, totalMs, rejected, failed } = statistics;
  const fields: Record<string, string> = {};
  for (const { name, number } of everyCommand()) {
    const count = calls[number]!;
    if (count + rejected[number]! + failed[number]! === 0) continue;
    const microseconds = Math.round(totalMs[number]! * 1000);
    const perCall = (count === 0 ? 0 : microseconds / count).toFixed(2);
    fields[`cmdstat_${name}`] =
      `calls=${count},usec=${microseconds},usec_per_call=${perCall},rejected_calls=${rejected[number]},failed_calls=${failed[number]}`;
  }
  return fields;
}

function errorFields({ statistics }: Engine): Fields {
  const fields: Record<string, string> = {};
  for (const [code, count] of statistics.errorsByCode) {
    fields[`errorstat_${code}`] = `count=${count}`;
  }
  return fields;
}

/** What Redis does not have: the events of locks that the history has seen, and the syncs of the log. */
function holdfastFields({ lockHistory, memory, persistence }: Engine): Fields {
  const counts = [...lockHistory.counts()].map(([type, count]) => {
    return [`holdfast_lock_events_${type.replace('-', '_')}`, count];
  });
  return {
    holdfast_lock_history: lockHistory.isOn ? 1 : 0,
    holdfast_lock_history_memory: memory.lockHistory.bytes,
    ...Object.fromEntries(counts),
    ...(persistence !== undefined && {
      holdfast_log_sync_seconds: histogramText(persistence.status.syncs),
    }),
  };
}

/** `sum=0.5,0.001=2,0.005=3,…,inf=4`: how many took up to that long. */
function histogramText({ counts, sumSeconds }: DurationHistogram): string {
  let count = 0;
  const parts = counts.map((each, at) => {
    count += each;
    return `${DURATION_BOUNDS_S[at] ?? 'inf'}=${count}`;
  });
  return [`sum=${sumSeconds.toFixed(6)}`, ...parts].join(',');
}

function keyspaceFields(engine: Engine): Fields {
  const fields: Record<string, string> = {};
  for (const { number, size, volatileSize } of engine.usedDatabases()) {
    if (size > 0) fields[`db${number}`] = `keys=${size},expires=${volatileSize},avg_ttl=0`;
  }
  return fields;
}
