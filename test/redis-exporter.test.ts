import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DurableServer } from './durable-server.ts';

/** What redis_exporter and the dashboards made for it read of a server: see docs/metrics.md. */
const NUMBER = /^-?\d+(?:\.\d+)?$/;
const STATUS = /^ok$/;
const FIELDS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  Server: {
    redis_version: /^7\.\d+\.\d+$/,
    redis_build_id: /^\S+$/,
    redis_mode: /^standalone$/,
    os: /^\S+/,
    tcp_port: NUMBER,
    run_id: /^[0-9a-f]{40}$/,
    process_id: NUMBER,
    uptime_in_seconds: NUMBER,
    hz: NUMBER,
    configured_hz: NUMBER,
  },
  Clients: {
    connected_clients: NUMBER,
    blocked_clients: NUMBER,
    tracking_clients: NUMBER,
    maxclients: NUMBER,
    cluster_connections: NUMBER,
    clients_in_timeout_table: NUMBER,
    client_recent_max_input_buffer: NUMBER,
    client_recent_max_output_buffer: NUMBER,
  },
  Memory: {
    used_memory: NUMBER,
    used_memory_rss: NUMBER,
    used_memory_peak: NUMBER,
    used_memory_lua: NUMBER,
    used_memory_overhead: NUMBER,
    used_memory_startup: NUMBER,
    used_memory_dataset: NUMBER,
    used_memory_scripts: NUMBER,
    used_memory_vm_eval: NUMBER,
    used_memory_vm_functions: NUMBER,
    used_memory_functions: NUMBER,
    used_memory_scripts_eval: NUMBER,
    number_of_cached_scripts: NUMBER,
    number_of_functions: NUMBER,
    number_of_libraries: NUMBER,
    maxmemory: NUMBER,
    maxmemory_policy: /^noeviction$/,
    mem_fragmentation_ratio: NUMBER,
    mem_fragmentation_bytes: NUMBER,
    mem_clients_normal: NUMBER,
    mem_clients_slaves: NUMBER,
    mem_not_counted_for_evict: NUMBER,
    mem_aof_buffer: NUMBER,
    mem_replication_backlog: NUMBER,
    total_system_memory: NUMBER,
    active_defrag_running: NUMBER,
    lazyfree_pending_objects: NUMBER,
    lazyfreed_objects: NUMBER,
  },
  Persistence: {
    loading: NUMBER,
    async_loading: NUMBER,
    rdb_changes_since_last_save: NUMBER,
    rdb_bgsave_in_progress: NUMBER,
    rdb_last_save_time: NUMBER,
    rdb_last_bgsave_status: STATUS,
    rdb_last_bgsave_time_sec: NUMBER,
    rdb_current_bgsave_time_sec: NUMBER,
    rdb_saves: NUMBER,
    rdb_last_cow_size: NUMBER,
    aof_enabled: /^1$/,
    aof_rewrite_in_progress: NUMBER,
    aof_rewrite_scheduled: NUMBER,
    aof_last_rewrite_time_sec: NUMBER,
    aof_current_rewrite_time_sec: NUMBER,
    aof_last_bgrewrite_status: STATUS,
    aof_last_write_status: STATUS,
    aof_last_cow_size: NUMBER,
    aof_current_size: NUMBER,
    aof_base_size: NUMBER,
    aof_pending_rewrite: NUMBER,
    aof_buffer_length: NUMBER,
    aof_pending_bio_fsync: NUMBER,
    aof_delayed_fsync: NUMBER,
    module_fork_in_progress: NUMBER,
    module_fork_last_cow_size: NUMBER,
  },
  Stats: {
    total_connections_received: NUMBER,
    total_commands_processed: NUMBER,
    instantaneous_ops_per_sec: NUMBER,
    total_net_input_bytes: NUMBER,
    total_net_output_bytes: NUMBER,
    rejected_connections: NUMBER,
    sync_full: NUMBER,
    sync_partial_ok: NUMBER,
    sync_partial_err: NUMBER,
    expired_keys: NUMBER,
    expired_stale_perc: NUMBER,
    expired_time_cap_reached_count: NUMBER,
    evicted_keys: NUMBER,
    evicted_clients: NUMBER,
    total_eviction_exceeded_time: NUMBER,
    keyspace_hits: NUMBER,
    keyspace_misses: NUMBER,
    pubsub_channels: NUMBER,
    pubsub_patterns: NUMBER,
    latest_fork_usec: NUMBER,
    migrate_cached_sockets: NUMBER,
    slave_expires_tracked_keys: NUMBER,
    active_defrag_hits: NUMBER,
    active_defrag_misses: NUMBER,
    active_defrag_key_hits: NUMBER,
    active_defrag_key_misses: NUMBER,
    total_error_replies: NUMBER,
    dump_payload_sanitizations: NUMBER,
    unexpected_error_replies: NUMBER,
  },
  Replication: {
    role: /^master$/,
    connected_slaves: NUMBER,
    master_replid: /^[0-9a-f]{40}$/,
    master_repl_offset: NUMBER,
    second_repl_offset: NUMBER,
    repl_backlog_active: NUMBER,
    repl_backlog_size: NUMBER,
    repl_backlog_first_byte_offset: NUMBER,
    repl_backlog_histlen: NUMBER,
  },
  CPU: {
    used_cpu_sys: NUMBER,
    used_cpu_user: NUMBER,
    used_cpu_sys_children: NUMBER,
    used_cpu_user_children: NUMBER,
  },
  Commandstats: {
    cmdstat_get: /^calls=\d+,usec=\d+,usec_per_call=\d+\.\d+,rejected_calls=\d+,failed_calls=\d+$/,
    'cmdstat_config|get': /^calls=\d+,usec=\d+,/,
  },
  Errorstats: { errorstat_WRONGTYPE: /^count=\d+$/ },
  Cluster: { cluster_enabled: /^0$/ },
  Keyspace: { db0: /^keys=\d+,expires=\d+,avg_ttl=\d+$/ },
};

const server = new DurableServer();
let redis: Redis;
let info: Map<string, Map<string, string>>;

beforeAll(async () => {
  await server.start();
  redis = new Redis(server.url);
  await redis.set('key', 'value', 'EX', 100);
  await redis.get('key');
  await redis.lpush('key', 'x').catch(() => {});
  await redis.config('GET', 'maxmemory');
  info = sectionsOf(await redis.info('ALL'));
});

afterAll(async () => {
  redis.disconnect();
  await server[Symbol.asyncDispose]();
});

function sectionsOf(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    if (line.startsWith('# ')) {
      section = new Map();
      sections.set(line.slice(2), section);
    } else if (line !== '') {
      const at = line.indexOf(':');
      section.set(line.slice(0, at), line.slice(at + 1));
    }
  }
  return sections;
}

describe.each(Object.entries(FIELDS))('the section %s', (title, fields) => {
  it.each(Object.entries(fields))('has %s', (name, form) => {
    expect(info.get(title)?.get(name)).toMatch(form);
  });
});

it('has no own field that redis_exporter takes for one of Redis', () => {
  const own = [...info.get('Holdfast')!.keys()];
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter((name) => !name.startsWith('holdfast_'))).toEqual([]);
});

it('answers the other commands of redis_exporter', async () => {
  expect(await redis.call('SLOWLOG', 'LEN')).toBeTypeOf('number');
  expect(await redis.call('SLOWLOG', 'GET', '1')).toBeInstanceOf(Array);
  expect(await redis.call('LATENCY', 'LATEST')).toBeInstanceOf(Array);
  expect(await redis.call('CLIENT', 'SETNAME', 'redis_exporter')).toBe('OK');
  const clients = String(await redis.call('CLIENT', 'LIST'));
  for (const name of ['id', 'addr', 'name', 'age', 'idle', 'flags', 'db', 'omem', 'cmd', 'qbuf']) {
    expect(clients).toMatch(new RegExp(`(?:^| )${name}=`));
  }
  const settings = (await redis.config('GET', '*')) as string[];
  for (const name of ['maxmemory', 'maxclients', 'databases', 'save', 'appendonly']) {
    expect(settings).toContain(name);
  }
});
