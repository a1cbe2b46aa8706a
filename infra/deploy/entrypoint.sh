#!/bin/sh
# Runs the processes of TADPOLE_STACK_ONLY against a Temporal and a Postgres elsewhere, until the container is stopped.
set -u
cd /app

stop() {
  node bin/tadpole.mjs down
  exit 0
}
trap stop TERM INT

# The servers may start later than this container.
until node bin/tadpole.mjs up; do
  sleep 5 &
  wait $!
done
tail -n +1 -F "$TADPOLE_DATA"/logs/*.log &
wait $!
