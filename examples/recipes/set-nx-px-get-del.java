// The value is a token of this program, and DEL is sent only
// if GET finds the token. The lease can still end between GET
// and DEL.
//   java set-nx-px-get-del.java [host [port [seconds]]]
// seconds: how long the lease lasts
import java.io.IOException;
import java.net.Socket;
import java.util.UUID;

class SetNxPxGetDel {
    public static void main(String[] args) {
        try {
            String host = args.length > 0 ? args[0] : "127.0.0.1";
            int port = args.length > 1 ? wholeNumber("port", args[1]) : 6379;
            int seconds = args.length > 2 ? wholeNumber("seconds", args[2]) : 2;
            workUnderLock(new Redis(host, port), seconds * 1000);
        } catch (IOException | IllegalArgumentException problem) {
            System.err.println(problem.getMessage());
            System.err.println("usage: java set-nx-px-get-del.java [host [port [seconds]]]");
            System.exit(1);
        }
    }

    static void workUnderLock(Redis redis, int ms) throws IOException {
        String token = UUID.randomUUID().toString().replace("-", "");
        // Without a look at this reply two programs work at once.
        if (!redis.send("SET", "lock", token, "PX", "" + ms, "NX").equals("OK")) return;
        try {
            System.out.println("working until Enter");
            System.in.read();
        } finally {
            if (redis.send("GET", "lock").equals(token)) {
                redis.send("DEL", "lock");
            }
        }
    }

    static int wholeNumber(String name, String text) {
        if (text.matches("\\d{1,5}")) return Integer.parseInt(text);
        throw new IllegalArgumentException(name + " must be a whole number up to 99999, not '" + text + "'");
    }
}

/** As much of the Redis protocol as this program needs. Prints each command and its reply. */
class Redis {
    private final Socket socket;

    Redis(String host, int port) throws IOException {
        try {
            socket = new Socket(host, port);
        } catch (IOException problem) {
            throw new IOException("no server answers at " + host + ":" + port + ": " + problem.getMessage());
        }
    }

    String send(String... words) throws IOException {
        var request = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words) request.append("$" + word.length() + "\r\n" + word + "\r\n");
        socket.getOutputStream().write(request.toString().getBytes());
        String reply = readReply();
        System.out.println(String.join(" ", words) + " -> " + reply);
        return reply;
    }

    private String readReply() throws IOException {
        String line = readLine();
        if (line.startsWith("-")) throw new IOException(line.substring(1));
        if (line.equals("$-1")) return "nil";
        return line.startsWith("$") ? readLine() : line.substring(1);
    }

    private String readLine() throws IOException {
        var line = new StringBuilder();
        for (int next; (next = socket.getInputStream().read()) != '\n'; ) {
            if (next < 0) throw new IOException("the server closed the connection");
            if (next != '\r') line.append((char) next);
        }
        return line.toString();
    }
}
