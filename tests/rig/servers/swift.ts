/** @module */
import { freePorts, type Processes, type RunningServer, serve } from "./processes.ts";
import { makeBucket, s3Variables } from "./bucket.ts";

/** OpenStack Swift with its S3 interface: one of each of its servers, and a memcached. */
export function startSwift(): Promise<RunningServer> {
  return serve(start);
}

async function start(processes: Processes) {
  const [port = 0, account = 0, container = 0, object = 0, memcached = 0] = freePorts(5);
  processes.makeFolders("data/d1", "cache");
  const user = new TextDecoder().decode(
    new Deno.Command("id", { args: ["-un"] }).outputSync().stdout,
  ).trim();
  const common = (own: number) =>
    `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${own}
user = ${user}
swift_dir = ${processes.folder}
workers = 0
log_address = /dev/null
log_level = ERROR
`;
  const storage = { account, container, object };
  for (const [name, own] of Object.entries(storage)) {
    const builder = processes.path(`${name}.builder`);
    // Eight partitions, one copy, no time between changes.
    await processes.run("swift-ring-builder", builder, "create", "3", "1", "0");
    await processes.run("swift-ring-builder", builder, "add", `r1z1-127.0.0.1:${own}/d1`, "1");
    await processes.run("swift-ring-builder", builder, "rebalance");
    const config = processes.write(
      `${name}-server.conf`,
      `${common(own)}devices = ${processes.path("data")}
mount_check = false
fallocate_reserve = 0
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
`,
    );
    processes.start(`swift-${name}-server`, config);
  }
  processes.start(
    "memcached",
    ...["-l", "127.0.0.1", "-p", String(memcached), "-U", "0", "-u", user],
  );
  const proxy = processes.write(
    "proxy-server.conf",
    `${common(port)}[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${memcached}
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_lab_ann = secret .admin
`,
  );
  processes.start("swift-proxy-server", proxy);
  const endpoint = `http://127.0.0.1:${port}`;
  const variables = s3Variables({ endpoint, key: "lab:ann", secret: "secret" });
  await processes.until("a bucket of Swift", () => makeBucket("results", variables));
  return { url: "s3://results/lockstep", port, variables };
}
