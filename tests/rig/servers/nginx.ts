/** @module */
import { freePorts, type Processes, type RunningServer, serve } from "./processes.ts";

/** nginx with WebDAV, as `docs/cache.md` has it, with a name and a password for who writes. */
export function startNginx(): Promise<RunningServer> {
  return serve(start);
}

async function start(processes: Processes) {
  const [port = 0] = freePorts(1);
  processes.makeFolders("data", "tmp");
  const isRoot = Deno.uid() === 0;
  // {PLAIN} is nginx's own.
  processes.write("users", "ann:{PLAIN}secret\n");
  const netrc = processes.write("netrc", "machine 127.0.0.1 login ann password secret\n");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${processes.path("tmp")}/${name};`).join(" ");
  const config = processes.write(
    "nginx.conf",
    `daemon off;
${isRoot ? "user root;" : ""}
pid ${processes.path("pid")};
error_log ${processes.path("error.log")};
events { worker_connections 256; }
http {
  access_log off;
  ${temporary}
  server {
    listen 127.0.0.1:${port};
    root ${processes.path("data")};
    client_max_body_size 0;
    location ~ ^/(cas|ac)/[0-9a-f]+$ {
      dav_methods PUT;
      create_full_put_path on;
      limit_except GET { auth_basic "lockstep"; auth_basic_user_file ${processes.path("users")}; }
    }
  }
}
`,
  );
  processes.start("/usr/sbin/nginx", "-e", processes.path("start.log"), "-c", config);
  const url = `http://127.0.0.1:${port}`;
  await processes.until("an answer of nginx", async () => {
    const response = await fetch(url);
    await response.body?.cancel();
    return true;
  });
  return { url, port, variables: { NETRC: netrc } };
}
