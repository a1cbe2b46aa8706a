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
 * - A command's streams are opened anew: flags it sets on them (O_NONBLOCK) do not hold for process 1.
 */

/**
 * What root does before anything of the sandbox's runs, where the daemon made folders on the way to mounts: gives them and the three streams to
 * the sandbox's user, and becomes it, with no capability left and none to be had. Arguments: `uid:gid`, the folders, quoted; BOOT and its arguments.
 */
export const HAND_OVER = `newline='
'
eval "chown $1 $2" /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 || exit
uid=\${1%:*} gid=\${1#*:}
shift 2
exec setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps=-all --bounding-set=-all /bin/sh -c "$@"`;

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
group=/sys/fs/cgroup
if [ -f $group/memory/memory.oom_control ]; then
  cpu_file=$group/cpuacct/cpuacct.usage memory_file=$group/memory/memory.oom_control pids_file=$group/pids/pids.events
  memory_used=$group/memory/memory.usage_in_bytes
  cpu() { read -r used <$cpu_file; }
  kernel() { read -r count <$group/memory/memory.kmem.usage_in_bytes; }
else
  memory_file=$group/memory.events pids_file=$group/pids.events memory_used=$group/memory.current
  cpu() { read -r name used <$group/cpu.stat; used=$((used * 1000)); }
  kernel() { count slab $group/memory.stat; }
fi
count() {
  count=0
  while read -r name value; do [ "$name" = "$1" ] && count=$value; done <"$2"
}
look() {
  used=0; cpu
  count oom_kill $memory_file; killed=$count
  count max $pids_file; refused=$count
}
enter='echo 1000 >/proc/self/oom_score_adj; exec "$@"'
run() {
  [ "$seconds" = - ] || { ulimit -S -t "$seconds"; ulimit -H -t $((seconds + 1)); }
  [ -n "\${LC_ALL+set}" ] || { export LC_ALL=C; enter="unset LC_ALL; $enter"; }
  exec setsid sh -c "$enter" sh "$@" >/proc/self/fd/1 2>/proc/self/fd/3 3>&- 4<&-
}
may_be_full() {
  [ $code -eq 0 ] && [ $((used - used_before)) -lt 10000000 ] && return 1
  memory=
  read -r memory <$memory_used
  [ "\${memory:-$room}" -ge "$room" ]
}
sweep() {
  turns=0
  while kill -9 -1; jobs >/dev/null; set -- /proc/[0-9]*; [ $# -gt 1 ]; do
    turns=$((turns + 1))
    [ $turns -gt 200 ] && sleep 0.02
  done
}
trap 'hit=1; kill -9 -1' USR1
room=$1
shift
folders=$*
# Where the kernel does not count its own memory, files without content fill a folder unseen.
count=0; kernel
[ "\${count:-0}" -gt 0 ] || room=0
look
read -r key
newline='
'
while :; do
  hit=
  if ! read -r word nonce kind seconds bytes words; then
    [ -n "$hit" ] && continue
    exit 0
  fi
  [ "$word" = "$key" ] || continue
  eval "set -- $words"
  hit=
  printf '\\001%s\\n' "$nonce"
  used=0; cpu; used_before=$used killed_before=$killed refused_before=$refused
  case $kind in
  run) run "$@" </dev/null & ;;
  talk) run "$@" <&4 & ;;
  feed) LC_ALL=C head -c "$bytes" <&4 3>&- 4<&- | { (run "$@"); code=$?; cat >/dev/null; exit $code; } & ;;
  key) key=$1; : & ;;
  esac
  [ -z "$hit" ] || kill -9 -1
  wait $!
  code=$?
  [ -z "$hit" ] || code=137
  sweep
  look
  free=-
  may_be_full && free=$(LC_ALL=C stat -f --printf=%a:%d, $folders)
  set -- "$nonce" $code $((used - used_before)) $((killed - killed_before)) $((refused - refused_before)) "\${free:--}"
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
  return `'${word.replaceAll("'", "'\\''").replaceAll("\n", "'\"$newline\"'")}'`;
}
