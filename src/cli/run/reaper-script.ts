/**
 * The program of the reaper: a small shell script, so that it starts fast and outlives the runner.
 *
 * Its first argument is the run id. It reads commands from descriptor 3, one on each line, and writes `ok` to its
 * stdout after those that take time:
 *
 * - `watch <pid> own`: the command runs, in its own process group; `watch <pid> shared`: in the group of its parent;
 * - `gone`: the command has ended, so that the system may reuse its pid;
 * - `left <seconds>`: kill everything after this time, unless another command comes first;
 * - `server <seconds>`: stdin is a connection to the server that has the lock; kill everything this long after the
 *   connection ends, also when the runner is stopped and sends nothing;
 * - `signal <name>`: send this signal to everything, and SIGCONT after it unless it is STOP;
 * - `tidy`: end the processes that are left in the group of the command: SIGTERM, one second, SIGKILL;
 * - `finish`: kill everything, and check again until no process is left;
 * - `dismiss`: exit without killing anything.
 *
 * The end of descriptor 3 without `dismiss` means that the runner was killed: the reaper kills everything and then
 * exits. Its exit closes the last copy of the socket of the session (descriptor 4), which frees the lock.
 *
 * "Everything" is the process group of the command, its descendants and, on Linux, all processes with the run id in
 * their environment: a grandchild that left the group and whose parent is dead. Before the first `watch`, the other
 * children of the runner count as the command, which may have started already. A process that was found once is
 * identified by its pid and start time, and found again when its parent is dead: the parent may have died by the
 * SIGTERM that the process ignored. Zombies (state Z) do not count.
 *
 * The system reuses pids. The script forgets a pid as soon as its process is gone, and stops a countdown, which may
 * have ended long ago, only if that is still a child of the script.
 *
 * The reaper is an orphan in its own session: signals to the group of the runner do not reach it, and a program that
 * kills the descendants of the runner does not find it. The runner knows the group of the reaper, to continue it
 * after a SIGSTOP, and to stop its countdowns when it was killed.
 */
export const REAPER_SCRIPT = `
run_id=$1 root= group= shared= timer= sentry= self= known=' ' starter=$PPID

processes() {
  if [ -r /proc/self/stat ]; then
    for stat in /proc/[0-9]*/stat; do
      read -r line <"$stat" || continue
      set -- \${line##*) }
      case $1 in Z | X) ;; *) echo "\${line%% *} $2 $3 \${20}" ;; esac
    done
  else
    ps -A -o stat= -o pid= -o ppid= -o pgid= | while read -r state pid parent pgid; do
      case $state in Z*) ;; *) echo "$pid $parent $pgid -" ;; esac
    done
  fi
}

carriers() {
  for environ in $(grep -lsF "$run_id" /proc/[0-9]*/environ); do
    environ=\${environ#/proc/}
    printf '%s ' "\${environ%/environ}"
  done
}

is_known() {
  case $known in *" $1:$2 "*) ;; *) return 1 ;; esac
}

belongs() {
  [ "$pgid" = "\${group:--}" ] || is_known "$pid" "$start" || {
    # The group of the shell that started this one has the pid of that shell.
    [ "$parent" = "\${starter:--}" ] && [ "$pgid" != $$ ]
  }
}

members() {
  listing=$(processes)
  family=" $root $(carriers)" before=
  while [ "$family" != "$before" ]; do
    before=$family
    while read -r pid parent pgid start; do
      case $family in
        *" $pid "*) ;;
        *" $parent "*) family="$family$pid " ;;
        *) if belongs; then family="$family$pid "; fi ;;
      esac
    done <<LISTING
$listing
LISTING
  done
  found=
  while read -r pid parent pgid start; do
    case $family in *" $pid "*) ;; *) continue ;; esac
    found="$found $pid"
    if [ "$start" != - ] && ! is_known "$pid" "$start"; then known="$known$pid:$start "; fi
  done <<LISTING
$listing
LISTING
  [ -n "$found" ]
}

leftovers() {
  listing=$(processes)
  family=" $(carriers)" found=
  while read -r pid parent pgid start; do
    if [ "$pgid" = "$group" ]; then found="$found $pid"; fi
    case $family in
      *" $pid "*) if [ "$pgid" = "$shared" ]; then found="$found $pid"; fi ;;
    esac
  done <<LISTING
$listing
LISTING
  [ -n "$found" ]
}

finish() {
  # Children are found by their parents: stop these first, so that no parent dies before its children are found.
  if [ -n "$group" ]; then kill -STOP "-$group"; fi
  if members; then kill -KILL $found; fi
  if [ -n "$group" ]; then kill -KILL "-$group"; fi
  if found=$(carriers) && [ -n "$found" ]; then kill -KILL $found; fi
  rounds=0
  while members && [ "$rounds" -lt 200 ]; do
    kill -KILL $found
    rounds=$((rounds + 1))
    if [ "$rounds" -gt 2 ]; then sleep 0.05 4<&- 5<&-; fi
  done
  if [ "$rounds" -lt 200 ]; then group=; fi
}

tidy() {
  rounds=0
  while leftovers && [ "$rounds" -lt 40 ]; do
    case $rounds in
      0) kill -TERM $found; kill -CONT $found ;;
      20) kill -KILL $found ;;
    esac
    rounds=$((rounds + 1))
    sleep 0.05 4<&- 5<&-
  done
  group= shared=
}

gone() {
  root=
  stop_countdowns
  if [ -n "$group" ]; then kill -0 "-$group" || group=; fi
}

watch() {
  root=$1 starter=
  if [ "$2" = own ]; then group=$1; return; fi
  read -r line <"/proc/$1/stat" || return
  set -- \${line##*) }
  shared=$3
}

count_down() {
  before=$!
  trap 'if [ "$!" != "$before" ]; then kill -KILL "$!"; fi; exit' TERM
  sleep "$1" 4<&- 5<&- &
  wait "$!"
  trap '' TERM
  finish
}

retire() {
  # After the reaper was killed, no other process stops await_server, whose connection keeps the server alive.
  if [ -n "$self" ] && ! kill -0 "$self"; then kill -TERM "-$$"; fi
}

await_server() {
  # The server ignores an empty line. Writing it fails when the server is dead.
  while echo >&5; do
    read -r line <&5 || sleep 0.2
  done
  count_down "$1"
}

is_child() {
  if [ -z "$self" ]; then return; fi
  read -r line <"/proc/$1/stat" || return
  set -- \${line##*) }
  [ "$2" = "$self" ]
}

stop() {
  if [ -z "$1" ]; then return; fi
  if is_child "$1"; then kill "$1"; kill -CONT "$1"; fi
  wait "$1"
}

stop_countdowns() {
  stop "$timer"
  stop "$sentry"
  timer= sentry=
}

signal() {
  members || return
  kill "-$1" $found
  if [ "$1" != STOP ]; then kill -CONT $found; fi
}

execute() {
  case $1 in
    watch) watch "$2" "$3" ;;
    gone) gone ;;
    # The old countdown is stopped after the new one has begun: the reaper may be killed between the two.
    left) before=$timer; (exec >/dev/null; count_down "$2"; retire) & timer=$!; stop "$before" ;;
    server) before=$sentry; (exec >/dev/null 4<&-; await_server "$2") & sentry=$!; stop "$before" ;;
    signal) signal "$2"; echo ok ;;
    tidy) tidy; echo ok ;;
    finish) stop_countdowns; finish; echo ok ;;
    dismiss) stop_countdowns; exit ;;
  esac
}

main() {
  # The runner may die before it reads the reply.
  trap '' PIPE
  if [ -r /proc/self/stat ]; then read -r self line </proc/self/stat; fi
  while read -r command first second; do
    execute "$command" "$first" "$second"
  done
  for countdown in $timer $sentry; do
    if is_child "$countdown"; then kill "$countdown"; fi
  done
  finish
}

# Redirect by exec: a shell keeps copies of descriptors that it redirects for a function.
exec 5<&0 2>/dev/null
(exec <&3 3<&-; main) &
`;
