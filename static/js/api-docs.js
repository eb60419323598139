// The description of the API as a page. Requests are sent as who is signed in, unless they have a
// token of their own.

const page = document.querySelector("[data-api]");
const csrf = page.querySelector("[name=csrfmiddlewaretoken]").value;

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

// Its style sheet knows the theme by a class of its own.
function follow() {
  const chosen = root.dataset.theme;
  root.classList.toggle("dark-mode", chosen ? chosen === "dark" : system.matches);
}

follow();
system.addEventListener("change", follow);
new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });

window.SwaggerUIBundle({
  url: page.dataset.api,
  domNode: page.querySelector("[data-api-docs]"),
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  tagsSorter: "alpha",
  validatorUrl: null,
  requestInterceptor(request) {
    if (!request.headers.Authorization) request.headers["X-CSRFToken"] = csrf;
    return request;
  },
  onComplete() {
    document.querySelector("[data-testid=page-api]").dataset.state = "ready";
  },
});
