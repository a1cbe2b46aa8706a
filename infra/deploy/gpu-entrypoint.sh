#!/bin/sh
# The native GPU worker in a container: it drains on SIGTERM, and a trainer that goes on is joined again.
set -eu
cd /app
exec node bin/tadpole.mjs worker gpu --trainer "$TADPOLE_TRAINER" --size "$TADPOLE_TRAINER_SIZE"
