/**
 * The program that is process 1 of every container: it reads commands from its standard input, one at a time, runs each and says how it
 * ended. POSIX sh, because that is what every image has.
 *
 * What makes it proof against what it runs:
 * - Process 1 cannot be killed from inside its namespace. Its file is unreadable (`BOOT`), so that the kernel lets nobody of the same
 *   user look into its memory or open its descriptors: neither the key nor the nonce can be found, nothing can be typed into the channel.
 * - A line without the key is no command, so that left-over input is passed over.
 * - After each command every other process is killed and awaited: kill(-1) from process 1 reaches all of them at once, forks in flight
 *   included. Only then is the frame's end printed, so that nothing of a command can come after it.
 * - Its variables have names of their own: one that was in the environment would be passed on, key and nonce among them.
 * - A command's streams are opened anew: flags it sets on them (O_NONBLOCK) do not hold for process 1.
 */

/**
 * What root does before anything of the sandbox's runs, where the daemon made folders on the way to mounts: gives them and the three streams to
 * the sandbox's user, and becomes it, with no capability left and none to be had. Arguments: `uid:gid`, the folders, quoted; BOOT and its arguments.
 */
export const HAND_OVER = `tp_newline='
'
eval "chown $1 $2" /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 || exit
tp_uid=\${1%:*} tp_gid=\${1#*:}
shift 2
exec setpriv --reuid "$tp_uid" --regid "$tp_gid" --clear-groups --inh-caps=-all --bounding-set=-all /bin/sh -c "$@"`;

/** Copies the shell to an unreadable file and becomes it. Arguments: those of `sh -c`, PROGRAM first. */
export const BOOT = 'cp /bin/sh /tmp/.sh && chmod 0111 /tmp/.sh && exec /tmp/.sh -c "$@"';

/**
 * Arguments: the folders in memory whose free space is looked at, after a number of bytes: while the container uses less, none of them is full.
 * Its first line is the key. A command is a line `<key> <nonce> <kind> <cpu seconds|-> <bytes of input> <words, quoted>`; then its input.
 * Kinds: `run` (no input), `feed` (that much input), `talk` (what comes is the command's input until it ends), `key` (the word is the
 * new key). Its beginning is told on standard output by `\1<nonce>\n`, its end on both streams by
 * `\1<nonce> <exit code> <cpu ns> <out-of-memory kills> <refused forks> <free blocks:free inodes,…|->\n`; the last is looked at where the command
 * may have filled a folder. SIGUSR1 kills the command; before its beginning was told, it would be lost. Programs of ours start faster without a locale.
 */
export const PROGRAM = `rm -f /tmp/.sh
exec 3>&2 2>/dev/null 4<&0
umask 022
unset HOSTNAME
tp_group=/sys/fs/cgroup
if [ -f $tp_group/memory/memory.oom_control ]; then
  tp_cpu_file=$tp_group/cpuacct/cpuacct.usage tp_memory_file=$tp_group/memory/memory.oom_control tp_pids_file=$tp_group/pids/pids.events
  tp_memory_used=$tp_group/memory/memory.usage_in_bytes
  cpu() { read -r tp_used <$tp_cpu_file; }
  kernel() { read -r tp_count <$tp_group/memory/memory.kmem.usage_in_bytes; }
else
  tp_memory_file=$tp_group/memory.events tp_pids_file=$tp_group/pids.events tp_memory_used=$tp_group/memory.current
  cpu() { read -r tp_name tp_used <$tp_group/cpu.stat; tp_used=$((tp_used * 1000)); }
  kernel() { count slab $tp_group/memory.stat; }
fi
count() {
  tp_count=0
  while read -r tp_name tp_value; do [ "$tp_name" = "$1" ] && tp_count=$tp_value; done <"$2"
}
look() {
  tp_used=0; cpu
  count oom_kill $tp_memory_file; tp_killed=$tp_count
  count max $tp_pids_file; tp_refused=$tp_count
}
tp_enter='echo 1000 >/proc/self/oom_score_adj; exec "$@"'
run() {
  [ "$tp_seconds" = - ] || { ulimit -S -t "$tp_seconds"; ulimit -H -t $((tp_seconds + 1)); }
  [ -n "\${LC_ALL+set}" ] || { export LC_ALL=C; tp_enter="unset LC_ALL; $tp_enter"; }
  exec setsid sh -c "$tp_enter" sh "$@" >/proc/self/fd/1 2>/proc/self/fd/3 3>&- 4<&-
}
may_be_full() {
  [ $tp_code -eq 0 ] && [ $((tp_used - tp_used_before)) -lt 10000000 ] && return 1
  tp_memory=
  read -r tp_memory <$tp_memory_used
  [ "\${tp_memory:-$tp_room}" -ge "$tp_room" ]
}
sweep() {
  tp_turns=0
  while kill -9 -1; jobs >/dev/null; set -- /proc/[0-9]*; [ $# -gt 1 ]; do
    tp_turns=$((tp_turns + 1))
    [ $tp_turns -gt 200 ] && sleep 0.02
  done
}
trap 'tp_hit=1; kill -9 -1' USR1
tp_room=$1
shift
tp_folders=$*
# Where the kernel does not count its own memory, files without content fill a folder unseen.
tp_count=0; kernel
[ "\${tp_count:-0}" -gt 0 ] || tp_room=0
look
read -r tp_key
tp_newline='
'
while :; do
  tp_hit=
  if ! read -r tp_word tp_nonce tp_kind tp_seconds tp_bytes tp_words; then
    [ -n "$tp_hit" ] && continue
    exit 0
  fi
  [ "$tp_word" = "$tp_key" ] || continue
  eval "set -- $tp_words"
  tp_hit=
  printf '\\001%s\\n' "$tp_nonce"
  tp_used=0; cpu; tp_used_before=$tp_used tp_killed_before=$tp_killed tp_refused_before=$tp_refused
  case $tp_kind in
  run) run "$@" </dev/null & ;;
  talk) run "$@" <&4 & ;;
  feed) LC_ALL=C head -c "$tp_bytes" <&4 3>&- 4<&- | { (run "$@"); tp_code=$?; cat >/dev/null; exit $tp_code; } & ;;
  key) tp_key=$1; : & ;;
  esac
  [ -z "$tp_hit" ] || kill -9 -1
  wait $!
  tp_code=$?
  [ -z "$tp_hit" ] || tp_code=137
  sweep
  look
  tp_free=-
  may_be_full && tp_free=$(LC_ALL=C stat -f --printf=%a:%d, $tp_folders)
  set -- "$tp_nonce" $tp_code $((tp_used - tp_used_before)) $((tp_killed - tp_killed_before)) $((tp_refused - tp_refused_before)) "\${tp_free:--}"
  printf '\\001%s %s %s %s %s %s\\n' "$@"
  printf '\\001%s %s %s %s %s %s\\n' "$@" >&3
done
`;

/** One command as the program reads it. Throws for a NUL byte, which no shell can hold. */
export function commandLine(command: {
  readonly key: string;
  readonly nonce: string;
  readonly kind: Kind;
  readonly cpuSeconds: number | null;
  readonly inputBytes: number;
  readonly words: readonly string[];
}): string {
  const { key, nonce, kind, cpuSeconds, inputBytes, words } = command;
  const seconds = cpuSeconds === null ? "-" : Math.max(1, Math.ceil(cpuSeconds));
  return `${key} ${nonce} ${kind} ${seconds} ${inputBytes} ${words.map(quote).join(" ")}\n`;
}

export type Kind = "run" | "feed" | "talk" | "key";

/** For `eval`, on one line. */
export function quote(word: string): string {
  if (word.includes("\0")) throw new RangeError("a word of a command holds a NUL byte");
  return `'${word.replaceAll("'", "'\\''").replaceAll("\n", "'\"$tp_newline\"'")}'`;
}
