#!/bin/bash
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=8192M
#SBATCH --gres=gpu:2

export GANGLINE_FRAMEWORK=JAX
export GANGLINE_GRACE=30
export GANGLINE_LAUNCHER=0
export GANGLINE_NUM_WORKERS=3
export GANGLINE_PARTS=worker:3:4
export GANGLINE_PROJECT=vision
export GANGLINE_WORKLOAD=digits
set -u
umask 077
RUN=$SLURM_SUBMIT_DIR
cd "$RUN" && [ -f plan.json ] || { echo "The run folder is not there on this node." >&2; exit 74; }
[ ! -e stop ] && [ ! -e deleted ] || exit 75
# A try that others began anew: its first one counts, and what follows it is an attempt of its own.
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || { echo "$SLURM_JOB_ID" > requeued; exit 76; }
export SLURM_EXPORT_ENV=ALL
# The steps below say themselves how much of the allocation they take.
unset SLURM_MEM_PER_CPU SLURM_MEM_PER_NODE SLURM_MEM_PER_GPU
write() { printf '%s\n' "$2" > "$1.new" && mv -f "$1.new" "$1"; }
pause() { read -r -t "$1" -u 9; }; exec 9<> <(:)
finish() {
  local code=$1
  trap - EXIT
  rm -rf secrets data
  # Where no command failed, what Slurm itself said is all that tells why.
  [ "$code" = 0 ] || grep -qs '"code":[1-9]' state/*.exit \
    || cat job.log >> "logs/${GANGLINE_PARTS%%:*}-0.err"
  # What keeps jobs to their memory without cgroups tells so in words alone.
  ! grep -qsiE 'exceeded.* memory limit' job.log || MEMORY=1
  write exit.json "{\"memory\":$MEMORY,\"code\":$code,\"job\":$SLURM_JOB_ID,\
\"cancelled\":$CANCELLED,\"end\":$(date +%s.%N)}"
  exit "$code"
}
CANCELLED=0 STOPPING=0 LAUNCHER=0 MEMORY=0
trap 'finish $?' EXIT
trap 'CANCELLED=1' TERM
# A stop: the request first, by force once the grace period is over.
stop() {
  [ $STOPPING = 0 ] || return
  STOPPING=1
  local grace
  grace=$(sed -n 's/.*"grace":\([0-9]*\).*/\1/p' stop)
  if [ $LAUNCHER = 1 ]; then kill -TERM "$P"; else scancel --quiet --signal=TERM "$SLURM_JOB_ID"; fi
  ( trap '' TERM USR2
    pause $((${grace:-30} + 5))
    if [ $LAUNCHER = 1 ]; then kill -KILL "$P"; fi
    scancel --quiet --signal=KILL "$SLURM_JOB_ID" ) &
}
trap stop USR2
await() {
  local code
  wait "$1"; code=$?
  while kill -0 "$1" 2> /dev/null; do wait "$1"; code=$?; done
  return $code
}

# Node and address of every rank, one component after the other; of tasks there may be several on
# a node: 2(x3),1.
HOSTS=()
hosts() {
  local node counts=() each times
  for each in ${2//,/ }; do
    times=1
    [[ $each != *x* ]] || { times=${each#*x}; times=${times%)}; }
    for ((; times > 0; times--)); do counts+=("${each%%(*}"); done
  done
  for node in $(scontrol show hostnames "$1"); do
    for ((each = ${counts[0]:-1}; each > 0; each--)); do HOSTS+=("$node"); done
    counts=("${counts[@]:1}")
  done
}
if [ "${SLURM_HET_SIZE:-1}" -gt 1 ]; then
  for ((i = 0; i < SLURM_HET_SIZE; i++)); do
    list=SLURM_JOB_NODELIST_HET_GROUP_$i tasks=SLURM_TASKS_PER_NODE_HET_GROUP_$i
    hosts "${!list}" "${!tasks:-1}"
  done
else
  hosts "$SLURM_JOB_NODELIST" "${SLURM_TASKS_PER_NODE:-1}"
fi
declare -A ADDRESS
while read -r node address; do ADDRESS[$node]=$address; done < <(
  scontrol -o show node "$(IFS=,; echo "${HOSTS[*]}")" \
    | sed -n 's/^NodeName=\([^ ]*\) .* NodeAddr=\([^ ]*\) .*/\1 \2/p')
ADDRESSES=()
for host in "${HOSTS[@]}"; do ADDRESSES+=("${ADDRESS[$host]:-$host}"); done
export WORLD_SIZE=${#ADDRESSES[@]} GANGLINE_RANK_ADDRS="${ADDRESSES[*]}"
export MASTER_ADDR=${ADDRESSES[0]}
# Two jobs on one node differ, and none takes a port that the kernel gives out.
export MASTER_PORT=$((16000 + SLURM_JOB_ID * 16 % 16000))
write start.json "{\"job\":$SLURM_JOB_ID,\"nodes\":\"${HOSTS[*]}\",\"start\":$(date +%s.%N)}"

cat > replica.sh.$$.new <<'GANGLINE' && mv -f replica.sh.$$.new replica.sh || exit 73
#!/bin/bash
# One replica: its variables, its log, its records.
set -u
umask 077
RUN=$SLURM_SUBMIT_DIR
write() { printf '%s\n' "$2" > "$1.new" && mv -f "$1.new" "$1"; }
pause() { read -r -t "$1" -u 9; }; exec 9<> <(:)
left=${SLURM_PROCID:-0}
for place in $GANGLINE_PARTS; do
  IFS=: read -r role pods cpus <<< "$place"
  [ "$left" -lt "$pods" ] && break
  left=$((left - pods))
done
name=$role-$left
export GANGLINE_ROLE=$role GANGLINE_REPLICA=$name GANGLINE_RUN_DIR=$RUN/$name
[ -n "${OMP_NUM_THREADS:-}" ] || export OMP_NUM_THREADS=$cpus
if [ $GANGLINE_LAUNCHER = 0 ]; then
  export RANK=$SLURM_PROCID LOCAL_RANK=0 NODE_RANK=$SLURM_PROCID GROUP_RANK=$SLURM_PROCID
  export GANGLINE_RANK=$RANK PYTHONUNBUFFERED=1
else
  unset MASTER_ADDR MASTER_PORT WORLD_SIZE
fi
case $GANGLINE_FRAMEWORK in
PyTorch)
  export PET_NNODES=$WORLD_SIZE PET_NODE_RANK=$RANK PET_NPROC_PER_NODE=1
  export PET_MASTER_ADDR=$MASTER_ADDR PET_MASTER_PORT=$MASTER_PORT ;;
TF)
  all=() port=$MASTER_PORT
  for address in $GANGLINE_RANK_ADDRS; do all+=("\"$address:$port\""); port=$((port + 1)); done
  join() { local IFS=,; echo "$*"; }
  if [ "${GANGLINE_PARTS%%:*}" = master ]; then
    cluster="\"chief\":[${all[0]}],\"worker\":[$(join "${all[@]:1}")]"
  else
    cluster="\"worker\":[$(join "${all[@]}")]"
  fi
  kind=$role; [ "$kind" = master ] && kind=chief
  export TF_CONFIG="{\"cluster\":{$cluster},\"task\":{\"type\":\"$kind\",\"index\":$left}}" ;;
XGBoost)
  export DMLC_TRACKER_URI=$MASTER_ADDR DMLC_TRACKER_PORT=$MASTER_PORT DMLC_NUM_WORKER=$WORLD_SIZE
  DMLC_TASK_ID=$(printf %04d "$RANK"); export DMLC_TASK_ID ;;
JAX)
  export COORDINATOR_ADDRESS=$MASTER_ADDR COORDINATOR_PORT=$MASTER_PORT
  export NUM_PROCESSES=$WORLD_SIZE PROCESS_ID=$RANK ;;
MXNet)
  # The scheduler is the first task. It gives the ranks itself.
  unset RANK GANGLINE_RANK
  for place in $GANGLINE_PARTS; do
    IFS=: read -r each count cpus <<< "$place"
    [ "$each" != server ] || export DMLC_NUM_SERVER=$count
  done
  export DMLC_ROLE=$role DMLC_NUM_WORKER=$GANGLINE_NUM_WORKERS
  export DMLC_PS_ROOT_URI=$MASTER_ADDR DMLC_PS_ROOT_PORT=$MASTER_PORT ;;
MPI)
  export RUNAI_MPI_NUM_WORKERS=$GANGLINE_NUM_WORKERS
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  [ "$(id -u)" = 0 ] && export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ;;
esac
mkdir -p "$RUN/$name"
cd "$RUN/$name" || exit 74
log=$RUN/logs/$name state=$RUN/state/$name child= timer=
# The request to end reaches the command from Slurm; who ignores it is killed after the grace.
stop() {
  [ -n "$child" ] || { asked=1; return; }
  [ $GANGLINE_LAUNCHER = 0 ] || kill -TERM -- "-$child" 2> /dev/null
  [ -z "$timer" ] || return
  local grace
  grace=$(sed -n 's/.*"grace":\([0-9]*\).*/\1/p' "$RUN/stop" 2> /dev/null)
  # With no output of its own: srun waits until nobody has any of the step's open.
  ( trap '' TERM; pause "${grace:-$GANGLINE_GRACE}"
    kill -KILL -- "-$child" ) < /dev/null > /dev/null 2>&1 & timer=$!
  disown
}
asked=0
trap stop TERM
trap : INT USR1 USR2
# A line for each look: seconds since 1970 and of processor time, bytes of memory,
# bytes read and written, per cent and bytes of the GPUs, bytes that the node received and sent; a
# dash where it is unknown.
mkdir -p "$RUN/metrics"
metrics=$RUN/metrics/$name ticks=$(getconf CLK_TCK || echo 100)
page=$(getconf PAGESIZE || echo 4096)
look() {
  local now=${EPOCHREALTIME:-$(date +%s.%N)}
  printf '%s\n' "${now/,/.} $*"
}
noted() { look "$@" >> "$metrics.tsv"; }
network() {
  local line in=0 out=0
  while read -r line; do
    [ "${line%%:*}" != lo ] || continue
    set -- ${line#*:}
    in=$((in + $1)) out=$((out + $9))
  done < <(tail -n +3 /proc/net/dev)
  echo "$in $out"
}
gpus() {
  local share=0 memory=0 count=0 one used
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ] && command -v nvidia-smi > /dev/null; then
    while IFS=', ' read -r one used; do
      case $one$used in *[!0-9]* | '') continue ;; esac
      share=$((share + one)) memory=$((memory + used)) count=$((count + 1))
    done < <(nvidia-smi --id="$CUDA_VISIBLE_DEVICES" --query-gpu=utilization.gpu,memory.used \
      --format=csv,noheader,nounits)
  fi
  if [ $count = 0 ]; then echo '- -'; else echo "$((share / count)) $((memory * 1048576))"; fi
}
measured() {
  local todo=("$1") pid text file kids key value spent=0 pages=0 read=0 written=0
  while [ ${#todo[@]} -gt 0 ]; do
    pid=${todo[0]} todo=("${todo[@]:1}")
    read -r text < "/proc/$pid/stat" || continue
    set -- ${text##*) }
    spent=$((spent + ${12} + ${13} + ${14} + ${15})) pages=$((pages + ${22}))
    while read -r key value; do
      case $key in
      read_bytes:) read=$((read + value)) ;;
      write_bytes:) written=$((written + value)) ;;
      esac
    done < "/proc/$pid/io"
    for file in /proc/$pid/task/*/children; do
      kids=; read -r kids < "$file"
      todo+=($kids)
    done
  done
  spent=$((spent * 1000 / ticks))
  noted "$((spent / 1000)).$(printf %03d $((spent % 1000)))" \
    "$((pages * page)) $read $written $(gpus) $(network)"
}
# Of a person's own script, or of the ranks of a launcher: whatever steps run on this node, which
# are no children of it. What has ended goes on to count with what it was last seen to have used.
declare -A SEEN=()
USED=0
ZERO=
measured_job() {
  local pid text step rest kids key value pages=0 read=0 written=0 now found=0
  while read -r pid rest step kids; do
    [[ $pid =~ ^[0-9]+$ && $step != "${SLURM_STEP_ID:-none}" ]] || continue
    [[ $step != batch || $GANGLINE_FRAMEWORK = Script ]] || continue
    read -r text < "/proc/$pid/stat" || continue
    set -- ${text##*) }
    now=$((${12} + ${13})) pages=$((pages + ${22})) found=1
    USED=$((USED + now - ${SEEN[$pid]:-0})) SEEN[$pid]=$now
    while read -r key value; do
      case $key in
      read_bytes:) read=$((read + value)) ;;
      write_bytes:) written=$((written + value)) ;;
      esac
    done < "/proc/$pid/io"
  done < <(scontrol listpids "$SLURM_JOB_ID" "$SLURMD_NODENAME")
  [ $found = 1 ] || return
  [ -z "$ZERO" ] || { printf '%s\n' "$ZERO" >> "$metrics.tsv"; ZERO=; }
  value=$((USED * 1000 / ticks))
  noted "$((value / 1000)).$(printf %03d $((value % 1000)))" \
    "$((pages * page)) $read $written $(gpus) $(network)"
}
nothing_yet() { look "0 - 0 0 - - $(network)"; }
sampling() {
  trap '' TERM
  local every=1 count=0
  [ -n "${begun:-}" ] || nothing_yet >> "$metrics.tsv"
  while pause $every; kill -0 "$child"; do
    if [ "${GANGLINE_FRAMEWORK:-}" = Script ]; then measured_job; else measured "$child"; fi
    count=$((count + 1))
    # Often at first, and for a long run ever less, until once a minute.
    [ $count != 20 ] || every=5
    [ $((count % 360)) != 0 ] || every=$((every < 30 ? every * 2 : 60))
  done
} < /dev/null > /dev/null 2>&1
# What has ended is told by the shell itself, which waited for it.
measured_at_end() {
  local user system all=0 one minutes
  { read -r user; read -r user system; } < "$metrics.times"
  rm -f "$metrics.times"
  for one in $user $system; do
    minutes=${one%%m*} one=${one#*m} one=${one%s}
    all=$((all + minutes * 60000 + 10#${one%[.,]*} * 1000 + 10#${one#*[.,]}))
  done
  noted "$((all / 1000)).$(printf %03d $((all % 1000))) - - - - - $(network)"
} 2> /dev/null
write "$state.start" "{\"node\":\"${SLURMD_NODENAME:-}\",\"pid\":$$,\"start\":$(date +%s.%N)}"
worker() {
  export RUNAI_NUM_OF_GPUS=2
  export NCCL_DEBUG=INFO
  COMMAND=(python train.py --epochs 10 --port "${MASTER_PORT-\$(MASTER_PORT)}")
}
COMMAND=()
set -m
# In a shell of its own: people's variables may be called as those here.
( [ -r "$RUN/secrets/$role" ] && . "$RUN/secrets/$role"
  $role || exit
  # For who enters a node where ranks of a launcher run: they have what it has.
  [ $GANGLINE_LAUNCHER = 0 ] || { mkdir -p "$RUN/secrets" && env -0 > "$RUN/secrets/launcher"; }
  exec "${CONTAINER[@]+"${CONTAINER[@]}"}" "${COMMAND[@]}"
) < /dev/null >> "$log.out" 2>> "$log.err" 9>&- & child=$!
set +m
sampling & sampler=$!
disown
[ $asked = 0 ] || { kill -TERM -- "-$child"; stop; }
wait "$child"; code=$?
while kill -0 "$child" 2> /dev/null; do wait "$child"; code=$?; done
if [ -e "$state.fresh" ]; then
  while read -r folder; do rm -rf "$folder"; done < "$state.fresh"
  rm -f "$state.fresh"
fi
# A request that comes only now would start a timer for which Slurm waits.
trap '' TERM
kill -KILL "$sampler" 2> /dev/null
# What steps have used is no part of it.
[ "$GANGLINE_FRAMEWORK" = Script ] && [ "$(wc -l < "$metrics.tsv")" -gt 1 ] \
  || { times > "$metrics.times" && measured_at_end; }
[ -z "$timer" ] || kill -KILL "$timer" 2> /dev/null
write "$state.exit" "{\"code\":$code,\"node\":\"${SLURMD_NODENAME:-}\",\"end\":$(date +%s.%N)}"
exit $code
GANGLINE
srun --kill-on-bad-exit=1 --nodes=3 --ntasks=3 --cpus-per-task=4 bash replica.sh & P=$!
await "$P"
finish $?
