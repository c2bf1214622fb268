// Lets the search of the site work when its pages are opened as files: browsers start no workers from file:// addresses.
// There `Worker` runs its script in a hidden frame of the page instead. On a server nothing changes.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><html><head></head><body></body></html>";
      frame.addEventListener("load", () => this.start(frame.contentWindow, new URL(url, location.href).href), { once: true });
      document.body.append(frame);
      this.frame = frame;
    }

    // Give the frame what a worker has, then load the script, then pass on what was sent meanwhile.
    start(scope, url) {
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      // One script after the other, whoever asks: answers to messages keep their order, as in a worker.
      let loaded = Promise.resolve();
      scope.importScripts = (...urls) => {
        const all = () => urls.reduce((before, next) => before.then(() => load(scope, next)), Promise.resolve());
        return (loaded = loaded.catch(() => {}).then(all));
      };
      load(scope, url).then(
        () => {
          this.scope = scope;
          this.waiting.splice(0).forEach((data) => this.postMessage(data));
        },
        () => this.dispatchEvent(new ErrorEvent("error", { message: `cannot load ${url}` }))
      );
    }

    postMessage(data) {
      if (this.scope) {
        this.scope.dispatchEvent(new MessageEvent("message", { data }));
      } else {
        this.waiting.push(data);
      }
    }

    terminate() {
      this.frame.remove();
    }
  };

  const load = (scope, url) =>
    new Promise((resolve, reject) => {
      const script = scope.document.createElement("script");
      script.addEventListener("load", resolve);
      script.addEventListener("error", reject);
      script.src = url;
      scope.document.body.append(script);
    });
}
