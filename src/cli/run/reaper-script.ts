/**
 * What the reaper is: a small shell script, so that it costs little and lives when the runner does not.
 * Its first argument is the runId of the run. It reads orders from descriptor 3, one on a line, and
 * answers those that take time with `ok` on its stdout:
 *
 * - `watch <pid> own`: the command runs, in a group of its own; `watch <pid> shared`: in its parent's;
 * - `gone`: the command has ended, so that its number may soon be somebody else's;
 * - `left <seconds>`: unless told otherwise before they are over, kill everything;
 * - `server <seconds>`: stdin is a connection to the server that keeps the lock; kill everything so long
 *   after its end, also when the runner is stopped and says nothing;
 * - `signal <name>`: send this to everything, and wake what is stopped, unless it is STOP;
 * - `tidy`: end what is left in the command's group: SIGTERM, a second, SIGKILL;
 * - `finish`: kill everything, and look again until nothing is left;
 * - `dismiss`: end, and do nothing.
 *
 * The end of the orders, without `dismiss`, means that the runner was killed: everything is killed, and
 * only then does the reaper end, and with it the last copy of the session's socket (descriptor 4).
 *
 * Everything is the command's own group, its descendants, and, on Linux, who has the runId in the
 * environment: a grandchild that left the group and whose parent is dead. Before the reaper is told what
 * to watch, it takes the runner's other children for the command, which may have started already. Who was
 * found once is known by the time of its start, and found again when nothing else tells of it any more: its
 * parent may have died of the SIGTERM that it ignored. The dead that nobody has buried (state Z) do not
 * count.
 *
 * Numbers of processes are used again. Those that are kept are forgotten as soon as what they stood for is
 * gone, and a countdown, which may have ended by itself long ago, is only stopped if it is still a child.
 *
 * It runs as an orphan in a session of its own: no signal to the runner's group reaches it, and whoever
 * kills the runner's descendants does not find it before it has done its work. The runner knows its group,
 * to wake it when it was stopped, and to stop its countdowns when it was killed.
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
    # The shell that started this one is in the group of its number.
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
  # Children are known by their parents: these must not die before those are found.
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
  # When the reaper was killed, nobody else ends who waits for the server, and keeps it from ending.
  if [ -n "$self" ] && ! kill -0 "$self"; then kill -TERM "-$$"; fi
}

await_server() {
  # An empty line is no command, and cannot be sent to who is dead.
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

stop_timer() {
  stop "$timer"
  timer=
}

stop_countdowns() {
  stop_timer
  stop "$sentry"
  sentry=
}

signal() {
  members || return
  kill "-$1" $found
  if [ "$1" != STOP ]; then kill -CONT $found; fi
}

obey() {
  case $1 in
    watch) watch "$2" "$3" ;;
    gone) gone ;;
    left) stop_timer; (exec >/dev/null; count_down "$2"; retire) & timer=$! ;;
    server) stop "$sentry"; (exec >/dev/null 4<&-; await_server "$2") & sentry=$! ;;
    signal) signal "$2"; echo ok ;;
    tidy) tidy; echo ok ;;
    finish) stop_countdowns; finish; echo ok ;;
    dismiss) stop_countdowns; exit ;;
  esac
}

guard() {
  # The runner may be dead before it has read what it is told here.
  trap '' PIPE
  if [ -r /proc/self/stat ]; then read -r self line </proc/self/stat; fi
  while read -r order first second; do
    obey "$order" "$first" "$second"
  done
  for countdown in $timer $sentry; do
    if is_child "$countdown"; then kill "$countdown"; fi
  done
  finish
}

# By exec: a shell keeps copies of what it redirects for one of its functions.
exec 5<&0 2>/dev/null
(exec <&3 3<&-; guard) &
`;
