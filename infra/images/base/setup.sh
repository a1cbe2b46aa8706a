#!/bin/sh
# Turns a Debian into the sandbox's system, from inside: the agent's account, mount points, nothing setuid, no leftovers of installing.
set -eu
grep -q '^agent:' /etc/passwd || echo 'agent:x:1000:1000:agent:/tmp:/bin/bash' >> /etc/passwd
grep -q '^agent:' /etc/group || echo 'agent:x:1000:' >> /etc/group
# Trees belong to whoever unpacked them; git refuses a stranger's without this.
printf '[safe]\n\tdirectory = *\n[user]\n\tname = agent\n\temail = agent@sandbox\n' > /etc/gitconfig
mkdir -p /repo
: > /usr/local/bin/node
: > /usr/local/bin/.repeatable.cjs
find / -xdev -perm /6000 -type f -exec chmod ug-s {} +
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /var/cache/debconf/*-old /var/log/*
rm -rf /usr/share/doc/* /usr/share/man/* /usr/share/info/* /usr/share/locale/*
