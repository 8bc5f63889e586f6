// The search runs in a worker, which browsers refuse to pages opened from a disk. There a hidden frame takes its place.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>worker</title>";
      this.ready = new Promise((resolve) => {
        frame.addEventListener("load", () => resolve(this.start(frame, url)), { once: true });
      });
      document.body.append(frame);
    }

    async start(frame, url) {
      const inner = frame.contentWindow;
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = frame.contentDocument.createElement("script");
          script.src = source;
          script.onload = resolve;
          script.onerror = () => reject(new Error(`${source} cannot be loaded`));
          frame.contentDocument.body.append(script);
        });
      inner.importScripts = async (...sources) => {
        for (const source of sources) await load(source);
      };
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      await load(url);
      return inner;
    }

    async postMessage(data) {
      const inner = await this.ready;
      inner.dispatchEvent(new inner.MessageEvent("message", { data }));
    }
  };
  window.Worker = window.IFrameWorker;
}
