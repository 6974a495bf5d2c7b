// The explorer without a server: it reads libraries on any host of files, in browsers, workers and Node.

/** A file could not be received or read: `message` says why. */
export class Failed extends Error {}

/** The file on the host is not the one that was opened. */
class Changed extends Failed {}

/** An answer needs more bytes than it may receive. */
class TooLarge extends Failed {
  constructor(bytes) {
    super(`This needs ${(bytes / 1e6).toFixed(1)} MB of the library.`);
    this.bytes = bytes;
  }
}

/** Number of bytes that the first request of a file asks for. */
const HEAD = 65536;
/** Maximum size of a file of a host without ranges. */
const MAX_WHOLE = 4 << 20;
/** Maximum number of times that an answer may need more bytes. */
const MAX_ROUNDS = 200;
/** Number of answers that are kept. */
const MAX_ANSWERS = 200;
/** The status of an answer whose source cannot be received. */
const NOT_RECEIVED = 502;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const NOTHING = new Uint8Array();

/** Seconds since 1970. */
const now = () => Math.floor(Date.now() / 1000);

const beside = (name) => new URL(name, import.meta.url);

/**
 * Loads the reader. `wasm` is its address, a response, or its bytes, which may be compressed with gzip. `model` is the
 * built-in model, which is received when a library needs it; `tally` is the module that also counts and finds games,
 * which is received for the first of these. `openings` is the table of their names; null leaves positions without names.
 */
export async function load(wasm, options = {}) {
  const { model = beside("shipped.model"), tally = beside("tally.wasm.gz"), openings = beside("openings.table"), fetch } = options;
  const host = new Host(fetch ?? globalThis.fetch.bind(globalThis));
  const [program, table] = await Promise.all([host.bytesOf(wasm), openings && host.bytesOf(openings)]);
  return new Reader(host, { module: await compiled(program), model, tally, openings: table });
}

/** Compiles a program. One that was compressed may arrive unpacked: some hosts say so, and then browsers unpack it. */
const compiled = async (program) => {
  const [first, second] = program instanceof ArrayBuffer ? new Uint8Array(program) : program;
  const isGzip = first === 0x1f && second === 0x8b;
  if (!isGzip) return WebAssembly.compile(program);
  const unpacked = new Blob([program]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
};

class Reader {
  #host;
  #module;
  /** The module that also counts games; undefined once it runs. */
  #tally;
  #model;
  #openings;
  #exports;
  #panic = "";
  #onProgress = () => {};
  /** How each source was opened, by its name. */
  #sources = new Map();
  /** The texts of answers, by their questions: people go back and forth. There is a new map when a source changes. */
  #answers = new Map();
  /** Requests that wait for their answers. */
  #waiting = new Map();

  constructor(host, { module, model, tally, openings }) {
    this.#host = host;
    this.#module = module;
    this.#model = model;
    this.#tally = tally;
    this.#openings = openings;
    this.#start();
  }

  #start() {
    const panicked = (at, length) => (this.#panic = decoder.decode(this.#view(at, length)));
    // The done part of nothing is not a number.
    const progress = (part) => this.#onProgress(part || 0);
    this.#exports = new WebAssembly.Instance(this.#module, { host: { panicked, progress } }).exports;
    if (!this.#openings) return;
    const { status, body } = this.#call({ openings: {} }, this.#openings);
    if (status !== 200) throw new Failed(decoder.decode(body));
  }

  /**
   * Opens a library, given by its bytes, or by the address of an archive or of a manifest. Only what answers need is
   * received, unless `whole` is true.
   */
  async open({ name, url, bytes, whole = false }) {
    const source = { url: url && this.#host.absolute(url), whole, bytes, stamps: new Map() };
    this.#sources.set(name, source);
    try {
      await this.#openSource(name, source);
    } catch (error) {
      this.#sources.delete(name);
      throw error;
    }
  }

  async #openSource(name, source, cache) {
    this.#answers = new Map();
    this.#call({ close: { name } });
    source.stamps.clear();
    const file = source.bytes ? { head: source.bytes, size: source.bytes.length } : await this.#host.head(source, cache);
    source.file = source.bytes ? undefined : file;
    const { head, size } = file;
    // A part of a library is an archive too, which has only some of its positions.
    if (source.url && new URL(source.url).pathname.endsWith(".json") && isArchive(head)) {
      throw new Failed(`${source.url}: an archive in place of a manifest: the host may have sent another file`);
    }
    const request = { open: { name, size, time: now() } };
    const { status, body } = await this.#ask(request, head);
    if (status !== 200) throw new Failed(decoder.decode(body));
  }

  /**
   * Answers what a server answers at `api/PATH?QUERY`, or for explorers of lichess.org at `PATH?QUERY`. `body` is an
   * object, or a text that says why there is no answer. If more than `maxBytes` bytes would have to be received, they
   * are not, and the answer has their number, `bytes`.
   */
  async answer(path, query, { maxBytes = Infinity } = {}) {
    if (path === "search" && this.#tally) await this.#once("tally", () => this.#loadTally());
    const request = { answer: { path, query: new URLSearchParams(query).toString() } };
    const question = JSON.stringify(request);
    const answers = this.#answers;
    if (answers.has(question)) return { status: 200, body: JSON.parse(answers.get(question)) };
    try {
      let reply = await this.#ask(request, NOTHING, maxBytes).catch((error) => {
        if (error instanceof Changed) return { status: 500, error };
        throw error;
      });
      // A file that was replaced looks damaged.
      if (reply.status === 500 && (await this.#reopenChanged())) reply = await this.#ask(request, NOTHING, maxBytes);
      if (reply.error) throw reply.error;
      const text = decoder.decode(reply.body);
      if (reply.status !== 200) return { status: reply.status, body: text };
      if (answers.size >= MAX_ANSWERS) answers.clear();
      answers.set(question, text);
      return { status: 200, body: JSON.parse(text) };
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      return { status: NOT_RECEIVED, body: error.message, bytes: error.bytes };
    }
  }

  /**
   * Counts the games of a PGN, which may be compressed, into a library in memory. `player` and `color` ("white" or
   * "black") choose games; `onProgress` gets the part that is done. Resolves to the numbers of games and positions.
   */
  async tally(bytes, { name, player, color, onProgress } = {}) {
    if (this.#tally) await this.#once("tally", () => this.#loadTally());
    this.#onProgress = onProgress ?? (() => {});
    const request = { tally: { name, player, color, time: now() } };
    const { status, body } = await this.#ask(request, bytes);
    if (status !== 200) throw new Failed(decoder.decode(body));
    this.#sources.delete(name);
    this.#answers = new Map();
    return JSON.parse(decoder.decode(body));
  }

  /** The bytes of a library that was counted here, packed for a file; this takes longer than counting. */
  bytes(name) {
    const { status, body } = this.#call({ bytes: { name } });
    if (status !== 200) throw new Failed(decoder.decode(body));
    return body;
  }

  /** Forgets a source. */
  close(name) {
    this.#sources.delete(name);
    this.#answers = new Map();
    this.#call({ close: { name } });
  }

  /** Opens the sources again whose files have changed. Resolves to true if there are any. */
  async #reopenChanged() {
    let isChanged = false;
    for (const [name, source] of this.#sources) {
      if (!source.file) continue;
      if (isSame(await this.#host.head(source, "no-cache"), source.file)) continue;
      await this.#openSource(name, source, "no-cache");
      isChanged = true;
    }
    return isChanged;
  }

  /** Sends a request to the module, and repeats it until the module has all bytes that it needs. */
  async #ask(request, bytes = NOTHING, maxBytes = Infinity) {
    let received = 0;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      let reply;
      try {
        reply = this.#call(request, bytes);
      } catch (error) {
        if (!(error instanceof WebAssembly.RuntimeError)) throw error;
        await this.#revive(request);
        throw new Failed(`the reader failed: ${this.#panic || error.message}`);
      }
      if (reply.status !== 0) return reply;
      const { needs, model } = JSON.parse(decoder.decode(reply.body));
      received += needs.reduce((sum, { start, end }) => sum + end - start, 0);
      if (received > maxBytes) throw new TooLarge(received);
      const given = needs.map((need) => this.#once(`${need.file} ${need.start}-${need.end}`, () => this.#give(need)));
      if (model) given.push(this.#once("model", () => this.#giveModel()));
      await Promise.all(given);
    }
    throw new Failed("a library needs ever more bytes: it is damaged");
  }

  #call(request, bytes = NOTHING) {
    const text = encoder.encode(JSON.stringify(request));
    const place = this.#exports.input(text.length + bytes.length);
    const input = this.#view(place, text.length + bytes.length);
    input.set(text);
    input.set(bytes, text.length);
    const status = this.#exports.call(text.length);
    return { status, body: this.#view(this.#exports.output(), this.#exports.output_len()).slice() };
  }

  #view(place, length) {
    return new Uint8Array(this.#exports.memory.buffer, place, length);
  }

  /** Goes on in the module that also counts games. */
  async #loadTally() {
    this.#module = await compiled(await this.#host.bytesOf(this.#tally));
    this.#tally = undefined;
    await this.#revive();
    // A library that turns out to be small needs the model, and would be counted again.
    await this.#giveModel();
  }

  /** Begins again, after a panic or in another module. The sources are opened again, except the one that failed. */
  async #revive(failed = {}) {
    this.#start();
    for (const [name, source] of this.#sources) {
      if (failed.open?.name !== name) await this.#openSource(name, source);
    }
  }

  /** Does something that may be under way already. */
  #once(what, start) {
    const waiting = this.#waiting.get(what) ?? start().finally(() => this.#waiting.delete(what));
    this.#waiting.set(what, waiting);
    return waiting;
  }

  async #give({ file, start, end, size }) {
    const slash = file.indexOf("/");
    const source = this.#sources.get(slash < 0 ? file : file.slice(0, slash));
    if (!source?.url) throw new Failed(`${file}: its bytes end too early`);
    const url = slash < 0 ? source.url : new URL(file.slice(slash + 1), source.url).href;
    const received = await this.#host.range(url, start, end, size, source.stamps);
    this.#call({ give: { file, start: received.start } }, received.bytes);
  }

  async #giveModel() {
    const { status, body } = this.#call({ model: {} }, await this.#host.bytesOf(this.#model));
    if (status !== 200) throw new Failed(`${this.#model}: ${decoder.decode(body)}`);
  }
}

/** Receives files. */
class Host {
  #fetch;

  constructor(fetch) {
    this.#fetch = fetch;
  }

  absolute(url) {
    return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href).href;
  }

  /** The bytes at an address or of a response. */
  async bytesOf(source) {
    if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
    const isAddress = typeof source === "string" || source instanceof URL;
    const address = isAddress && this.absolute(source);
    if (address && address.startsWith("file:") && globalThis.process) {
      const { readFile } = await import("node:fs/promises");
      return readFile(new URL(address));
    }
    const response = address ? await this.#get(address) : source;
    if (!response.ok) throw new Failed(`${source}: the host answered ${response.status}`);
    return received(response);
  }

  /** The first bytes of a source, or all of them, the size of its file, and what the host calls its version. */
  async head({ url, whole, stamps }, cache) {
    const range = whole ? {} : { range: `bytes=0-${HEAD - 1}` };
    const response = await this.#get(url, range, cache);
    if (response.status === 206) {
      const head = await received(response);
      const size = totalOf(response) ?? (head.length < HEAD ? head.length : await this.#size(url));
      stamps.set(url, stampOf(response));
      return { head, size, stamp: stampOf(response) };
    }
    if (!response.ok && response.status !== 416) throw answered(url, response);
    if (!whole) refuseLarge(url, response);
    const head = response.ok ? await received(response) : NOTHING;
    return { head, size: head.length, stamp: stampOf(response) };
  }

  /** Receives a range of a file of `size` bytes, or more of the file. */
  async range(url, start, end, size, stamps) {
    const isWhole = start === 0 && end === size;
    const response = await this.#get(url, isWhole ? {} : { range: `bytes=${start}-${end - 1}` });
    if (response.status === 404 || response.status === 416) throw new Changed(answered(url, response).message);
    if (!response.ok) throw answered(url, response);
    const isRange = response.status === 206;
    if (!isRange && !isWhole) refuseLarge(url, response);
    const stamp = stampOf(response);
    if (isRange && stamps.has(url) && stamps.get(url) !== stamp) throw new Changed(`${url}: the file has changed`);
    if (isRange) stamps.set(url, stamp);
    const bytes = await received(response);
    const expected = isRange ? end - start : size;
    if (bytes.length !== expected) {
      throw new Changed(`${url}: the host sent ${bytes.length} bytes, not ${expected}: the file was replaced or cut off, or the host changes it`);
    }
    return { start: isRange ? start : 0, bytes };
  }

  async #size(url) {
    const response = await this.#get(url, {}, undefined, "HEAD");
    const size = Number(response.headers.get("content-length"));
    if (!response.ok || !size) throw new Failed(`${url}: the host does not say how large the file is`);
    return size;
  }

  async #get(url, headers = {}, cache = "default", method = "GET") {
    try {
      return await this.#fetch(url, { method, headers, cache });
    } catch (error) {
      throw new Failed(`${url}: not received (${error.message})${adviceOf(url)}`);
    }
  }
}

const adviceOf = (url) => {
  const page = globalThis.location;
  if (page?.protocol === "file:") return ": a page that is opened as a file may not read others; it needs a server of files";
  if (!page || new URL(url).origin === page.origin) return "";
  return `: if the address is right, its host does not allow other pages to read it; it has to send Access-Control-Allow-Origin: ${page.origin}`;
};

const received = async (response) => {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new Failed(`${response.url}: not received (${error.message})`);
  }
};

const answered = (url, { status }) =>
  new Failed(status === 404 ? `${url}: there is no such file` : `${url}: the host answered ${status}`);

const refuseLarge = (url, response) => {
  const size = Number(response.headers.get("content-length"));
  if (size <= MAX_WHOLE) return;
  response.body?.cancel();
  throw new Failed(`${url}: the host does not send ranges of files, which a file of more than ${MAX_WHOLE >> 20} MB needs: use another host, or a library in parts that keeps fewer games`);
};

/** The size of a file in the answer to a request for a range, if the page may see it. */
const totalOf = (response) => {
  const total = response.headers.get("content-range")?.match(/\/(\d+)$/)?.[1];
  return total && Number(total);
};

const stampOf = (response) => response.headers.get("etag") ?? response.headers.get("last-modified");

/** Whether a file begins as an archive does. */
const isArchive = (head) => decoder.decode(head.subarray(1, 4)) === "EPA";

/** Whether two answers about a file are of the same content. */
const isSame = (one, other) =>
  one.size === other.size && one.stamp === other.stamp &&
  one.head.length === other.head.length && one.head.every((byte, place) => byte === other.head[place]);
