/**
 * What the guardian is: a small shell script, so that it costs little and lives when the runner does not.
 * Its first argument is the cookie of the run. It reads orders from descriptor 3, one on a line, and
 * answers those that take time with `ok` on its stdout:
 *
 * - `watch <pid> own`: the command runs, in a group of its own; `watch <pid> shared`: in its parent's;
 * - `gone`: the command has ended, so that its number may soon be somebody else's;
 * - `left <seconds>`: unless told otherwise before they are over, kill everything;
 * - `signal <name>`: send this to everything, and wake what is stopped;
 * - `tidy`: end what is left in the command's group: SIGTERM, a second, SIGKILL;
 * - `finish`: kill everything, and look again until nothing is left;
 * - `dismiss`: end, and do nothing.
 *
 * The end of the orders, without `dismiss`, means that the runner was killed: everything is killed, and
 * only then does the guardian end, and with it the last copy of the session's socket (descriptor 4).
 *
 * Everything is the command's own group, its descendants, and, on Linux, who has the cookie in the
 * environment: a grandchild that left the group and whose parent is dead. The dead that nobody has buried
 * (state Z) do not count.
 *
 * Numbers of processes are used again. Those that are kept are forgotten as soon as what they stood for is
 * gone, and the countdown, which may have ended by itself long ago, is only stopped if it is still a child.
 *
 * It runs as an orphan in a session of its own: no signal to a group reaches it, and whoever kills the
 * runner's descendants does not find it before it has done its work.
 */
export const GUARDIAN_SCRIPT = `
cookie=$1 root= group= shared= timer= self=

processes() {
  if [ -r /proc/self/stat ]; then
    for stat in /proc/[0-9]*/stat; do
      read -r line <"$stat" || continue
      set -- \${line##*) }
      case $1 in Z | X) ;; *) echo "\${line%% *} $2 $3" ;; esac
    done
  else
    ps -A -o stat= -o pid= -o ppid= -o pgid= | while read -r state pid parent pgid; do
      case $state in Z*) ;; *) echo "$pid $parent $pgid" ;; esac
    done
  fi
}

carriers() {
  for environ in $(grep -lsF "$cookie" /proc/[0-9]*/environ); do
    environ=\${environ#/proc/}
    printf '%s ' "\${environ%/environ}"
  done
}

members() {
  listing=$(processes)
  family=" $root $(carriers)" before=
  while [ "$family" != "$before" ]; do
    before=$family
    while read -r pid parent pgid; do
      case $family in
        *" $pid "*) ;;
        *" $parent "*) family="$family$pid " ;;
        *) if [ "$pgid" = "\${group:--}" ]; then family="$family$pid "; fi ;;
      esac
    done <<LISTING
$listing
LISTING
  done
  found=
  while read -r pid parent pgid; do
    case $family in *" $pid "*) found="$found $pid" ;; esac
  done <<LISTING
$listing
LISTING
  [ -n "$found" ]
}

leftovers() {
  listing=$(processes)
  family=" $(carriers)" found=
  while read -r pid parent pgid; do
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
    if [ "$rounds" -gt 2 ]; then sleep 0.05 4<&-; fi
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
    sleep 0.05 4<&-
  done
  group= shared=
}

gone() {
  root=
  stop_timer
  if [ -n "$group" ]; then kill -0 "-$group" || group=; fi
}

watch() {
  root=$1
  if [ "$2" = own ]; then group=$1; return; fi
  read -r line <"/proc/$1/stat" || return
  set -- \${line##*) }
  shared=$3
}

count_down() {
  before=$!
  trap 'if [ "$!" != "$before" ]; then kill -KILL "$!"; fi; exit' TERM
  sleep "$1" 4<&- &
  wait "$!"
  trap '' TERM
  finish
}

is_child() {
  if [ -z "$self" ]; then return; fi
  read -r line <"/proc/$1/stat" || return
  set -- \${line##*) }
  [ "$2" = "$self" ]
}

stop_timer() {
  if [ -z "$timer" ]; then return; fi
  if is_child "$timer"; then kill "$timer"; fi
  wait "$timer"
  timer=
}

guard() {
  if [ -r /proc/self/stat ]; then read -r self line </proc/self/stat; fi
  while read -r order first second; do
    case $order in left | finish | dismiss) stop_timer ;; esac
    case $order in
      watch) watch "$first" "$second" ;;
      gone) gone ;;
      left) count_down "$first" >/dev/null & timer=$! ;;
      signal) if members; then kill "-$first" $found; kill -CONT $found; fi ;;
      tidy) tidy; echo ok ;;
      finish) finish; echo ok ;;
      dismiss) exit ;;
    esac
  done
  if [ -n "$timer" ] && is_child "$timer"; then kill "$timer"; fi
  finish
}

guard <&3 3<&- 2>/dev/null &
`;
