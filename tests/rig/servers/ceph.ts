/** @module */
import { makeBucket, s3Variables } from "./bucket.ts";
import { freePorts, type Processes, type RunningServer, serve } from "./processes.ts";

const KEY = "ann", SECRET = "a-secret-of-the-test";

/** A Ceph cluster of one monitor, one manager and one disk, which is in memory, with its S3 gateway. */
export function startCeph(): Promise<RunningServer> {
  return serve(start);
}

async function start(processes: Processes) {
  const [port = 0, monitor = 0] = freePorts(2);
  processes.makeFolders("mon", "osd", "mgr", "rgw", "run");
  const cluster = crypto.randomUUID(), disk = crypto.randomUUID();
  const path = (name: string) => processes.path(name);
  const config = processes.write(
    "ceph.conf",
    `[global]
fsid = ${cluster}
mon_host = [v2:127.0.0.1:${monitor}]
public_network = 127.0.0.0/8
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = ${path("keyring")}
run_dir = ${path("run")}
admin_socket =
pid_file =
log_file =
log_to_stderr = true
crash_dir = ${path("run")}
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 2000
mon_data_avail_crit = 1
mon_data_avail_warn = 1
[mon.a]
mon_data = ${path("mon")}
[osd.0]
osd_data = ${path("osd")}
osd_objectstore = memstore
memstore_device_bytes = 2147483648
keyring = ${path("osd/keyring")}
[client.admin]
rgw_data = ${path("rgw")}
rgw_enable_usage_log = false
rgw_run_sync_thread = false
`,
  );
  const ceph = (...args: string[]) =>
    processes.run("ceph", "-c", config, "--connect-timeout", "10", ...args);
  const keyring = path("keyring");
  await processes.run(
    "ceph-authtool",
    "--create-keyring",
    keyring,
    "--gen-key",
    "-n",
    "mon.",
    "--cap",
    "mon",
    "allow *",
  );
  await processes.run(
    "ceph-authtool",
    keyring,
    "--gen-key",
    "-n",
    "client.admin",
    ...["mon", "osd", "mgr", "mds"].flatMap((name) => ["--cap", name, "allow *"]),
  );
  const map = path("monmap");
  await processes.run(
    "monmaptool",
    "--create",
    "--fsid",
    cluster,
    "--addv",
    "a",
    `[v2:127.0.0.1:${monitor}]`,
    map,
  );
  await processes.run(
    "ceph-mon",
    "-c",
    config,
    "--mkfs",
    "-i",
    "a",
    "--monmap",
    map,
    "--keyring",
    keyring,
  );
  processes.start("ceph-mon", "-c", config, "-i", "a", "-f");
  await processes.until("a monitor", async () => (await ceph("status")).includes(cluster));
  await ceph("osd", "new", disk);
  await processes.run(
    "ceph-osd",
    "-c",
    config,
    "-i",
    "0",
    "--mkfs",
    "--mkkey",
    "--no-mon-config",
    "--osd-uuid",
    disk,
  );
  await ceph(
    "auth",
    "add",
    "osd.0",
    "osd",
    "allow *",
    "mon",
    "allow profile osd",
    "-i",
    path("osd/keyring"),
  );
  processes.start("ceph-osd", "-c", config, "-i", "0", "-f");
  await processes.until("a disk", async () => / 1 up/.test(await ceph("osd", "stat")));
  await processes.run(
    "radosgw-admin",
    ...["-c", config, "user", "create", "--uid=ann", "--display-name=Ann"],
    ...[`--access-key=${KEY}`, `--secret-key=${SECRET}`],
  );
  processes.start(
    "radosgw",
    "-c",
    config,
    "-n",
    "client.admin",
    "-f",
    `--rgw-frontends=beast endpoint=127.0.0.1:${port}`,
  );
  const variables = s3Variables({ endpoint: `http://127.0.0.1:${port}`, key: KEY, secret: SECRET });
  await processes.until("a bucket of Ceph", () => makeBucket("results", variables));
  return { url: "s3://results/lockstep", port, variables };
}
